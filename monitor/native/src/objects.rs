//! Finds the claims that a key belongs to: objects by their ids, and content keys by the objects.

use crate::breaks::{contradiction, Code, Fine};
use crate::claim::Claims;
use crate::event::Event;
use crate::map::{Hashed, Map, Set};
use crate::names::{Name, Names};
use crate::pool::{Key, Of, Pool};
use crate::record;
use crate::sets::{Few, Sets};
use crate::store::{Bytes, Store};

record! {
    /// What claims are made for. `contents` are the keys of its first positions, once stated;
    /// `places` those of which copies were stated before their content was; `on` the claims on it.
    #[derive(Default)]
    pub struct Object {
        number: u32,
        object_id: Option<Name>,
        identity: Option<Name>,
        token_map: Option<Name>,
        contents: Box<[Name]>,
        places: Places,
        united: Option<Box<United>>,
        on: Few<u32>,
    }
}

record! {
    /// The groups and positions of an object of which one block held two contents: `same` those that
    /// have another key since, `shared` those that gave theirs to others.
    #[derive(Default)]
    pub struct United { same: Vec<((u64, u64), Key)>, shared: Vec<(u64, u64)> }
}

/// The id of an object, its cache identity and its map of positions.
type About = (Name, Option<Name>, Option<Name>);

/// A run of positions of a group, from one to before another.
type Run = (u64, u64, u64);

/// Positions by their groups, in order, as runs; mostly one.
#[derive(Default)]
pub enum Places {
    #[default]
    None,
    One(Run),
    Many(Box<Vec<Run>>),
}

impl Places {
    fn runs(&self) -> &[Run] {
        match self {
            Self::None => &[],
            Self::One(run) => std::slice::from_ref(run),
            Self::Many(runs) => runs,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.runs().is_empty()
    }

    /// The groups and positions.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.runs().iter().flat_map(|&(group, first, end)| (first..end).map(move |at| (group, at)))
    }

    fn add(&mut self, (group, at): (u64, u64)) {
        match self {
            Self::None => *self = Self::One((group, at, at + 1)),
            Self::One(run) if run.0 == group && run.1 <= at && at <= run.2 => {
                run.2 = run.2.max(at + 1);
            }
            Self::One(run) => {
                *self = Self::Many(Box::new(vec![*run]));
                self.add((group, at));
            }
            Self::Many(runs) => add(runs, (group, at)),
        }
    }
}

fn add(runs: &mut Vec<Run>, (group, at): (u64, u64)) {
    let next = runs.partition_point(|run| (run.0, run.1) <= (group, at));
    let joins = runs.get(next).is_some_and(|run| (run.0, run.1) == (group, at + 1));
    let before = next.checked_sub(1).map(|place| &mut runs[place]);
    match before.filter(|run| run.0 == group && at <= run.2) {
        Some(run) if at < run.2 => {}
        Some(run) if !joins => run.2 = at + 1,
        Some(_) => runs[next - 1].2 = runs.remove(next).2,
        None if joins => runs[next].1 = at,
        None => runs.insert(next, (group, at, at + 1)),
    }
}

impl Store for Places {
    fn put(&self, out: &mut Vec<u8>) {
        self.runs().to_vec().put(out);
    }
    fn get(from: &mut Bytes) -> Option<Self> {
        let runs = Vec::<Run>::get(from)?;
        Some(match runs[..] {
            [] => Self::None,
            [run] => Self::One(run),
            _ => Self::Many(Box::new(runs)),
        })
    }
}

impl FromIterator<(u64, u64)> for Places {
    fn from_iter<T: IntoIterator<Item = (u64, u64)>>(places: T) -> Self {
        let mut made = Self::default();
        places.into_iter().for_each(|place| made.add(place));
        made
    }
}

impl Object {
    fn same(&self) -> &[((u64, u64), Key)] {
        self.united.as_ref().map_or(&[], |united| &united.same)
    }

    fn shared(&self) -> &[(u64, u64)] {
        self.united.as_ref().map_or(&[], |united| &united.shared)
    }

    fn other(&self, place: (u64, u64)) -> Option<Key> {
        self.same().iter().find(|row| row.0 == place).map(|row| row.1)
    }

    /// Whether the keys of so many first positions are stated.
    pub fn has_keys(&self, positions: i64) -> bool {
        self.contents.len() as i64 >= positions
    }

    /// How many of its first positions have a key that other objects may have.
    pub fn named(&self) -> i64 {
        let mut found = self.contents.len() as u64;
        while self.other((0, found)).is_some() || self.shared().contains(&(0, found)) {
            found += 1;
        }
        found as i64
    }

    /// The end of the positions of which anything was stated.
    pub fn known(&self) -> i64 {
        let places = self.places.runs().iter().map(|run| run.2 as i64).max();
        places.unwrap_or(0).max(self.contents.len() as i64)
    }

    fn agrees(&self, identity: Option<Name>, token_map: Option<Name>) -> bool {
        let same = |own: Option<Name>, stated: Option<Name>| {
            own.is_none() || stated.is_none() || own == stated
        };
        same(self.identity, identity) && same(self.token_map, token_map)
    }
}

record! {
    /// The objects of a stream, and the objects that hold each content, with its position. Of those
    /// in `idle`, which have no claim, `most` are remembered, and those that are needed; an object
    /// was forgotten whose keys had been stated if `forgot_keys` says so.
    #[derive(Default)]
    pub struct Objects {
        all: Hashed<u32, Object>,
        count: u32,
        by_id: Sets<Name, u32>,
        idle: Set<u32>,
        most: usize,
        forgot_keys: bool,
        users: Hashed<Key, Map<u32, Few<u64>>>,
        none: Object,
    }
}

impl Objects {
    pub fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// The key of a position of an object.
    pub fn key(&self, object: &Object, group: u64, position: u64) -> Key {
        if let Some(content) = object.contents.get(position as usize) {
            return Key::content(object.identity, group, *content);
        }
        match object.other((group, position)) {
            None => Key::position(object.number, group, position),
            Some(Key { of: Of::Object(other), .. }) => self.key(self.get(other), group, position),
            Some(key) => key,
        }
    }

    /// An object; an empty one where it is no longer known.
    pub fn get(&self, number: u32) -> &Object {
        self.all.get(number).unwrap_or(&self.none)
    }

    fn made(&mut self, of: Object) -> u32 {
        self.count = self.count.checked_add(1).expect("fewer than 2^32 objects");
        self.all.insert(self.count, Object { number: self.count, ..of });
        self.count
    }

    /// A new object without a name.
    pub fn anonymous(&mut self) -> u32 {
        self.made(Object::default())
    }

    /// The claims on all objects.
    pub fn claims(&self) -> impl Iterator<Item = u32> + '_ {
        self.all.iter().flat_map(|row| row.1.on.iter())
    }

    /// The object that an event states, which is new if there is none; None if it states none.
    pub fn meant(&mut self, event: &Event, pool: &Pool, names: &Names) -> Fine<Option<u32>> {
        let about = event.object_id.map(|id| (id, event.cache_identity, event.token_map));
        about.map(|about| self.named(about, pool, names)).transpose()
    }

    /// The object of this id that agrees with what else is stated, which is new if there is none.
    pub fn named(&mut self, about: About, pool: &Pool, names: &Names) -> Fine<u32> {
        let (id, identity, token_map) = about;
        let agrees = |number: &u32| self.get(*number).agrees(identity, token_map);
        let found: Vec<u32> = self.by_id.of(id).filter(agrees).collect();
        match found[..] {
            [] => {
                self.forget_oldest(pool);
                Ok(self.add(about))
            }
            [number] => Ok(number),
            _ => {
                let text = format!("two objects are called {}", names.show(id));
                contradiction(Code::ObjectAmbiguous, text)
            }
        }
    }

    fn add(&mut self, (id, identity, token_map): About) -> u32 {
        let of = Object { object_id: Some(id), identity, token_map, ..Object::default() };
        let number = self.made(of);
        self.by_id.add(id, number);
        self.idle.add(number);
        number
    }

    /// Forget two objects at most that have no claim, so that their number sinks again.
    fn forget_oldest(&mut self, pool: &Pool) {
        let oldest: Vec<u32> = self.idle.keys().take(2).collect();
        for number in oldest {
            if self.idle.len() < self.most {
                return;
            }
            self.idle.remove(number);
            let object = self.get(number);
            if self.is_needed(object, pool) {
                self.idle.add(number);
                continue;
            }
            let id = object.object_id;
            self.forgot_keys |= !object.contents.is_empty() || object.united.is_some();
            self.unlist(number);
            self.discard(number);
            id.map(|id| self.by_id.remove(id, number));
        }
    }

    /// Whether a block or a copy is of a key that no other object has. So there are no more such
    /// objects than blocks and copies.
    fn is_needed(&self, object: &Object, pool: &Pool) -> bool {
        let own = |content: &&Name| {
            self.users.get(indexed_content(**content)).is_some_and(|users| users.len() == 1)
        };
        object.contents.iter().filter(own).any(|&content| {
            let key = |group: u64| Key::content(object.identity, group, content);
            pool.groups.iter().any(|row| pool.anywhere(key(row.0)))
        }) || object.places.iter().any(|(g, at)| pool.anywhere(Key::position(object.number, g, at)))
    }

    fn unlist(&mut self, number: u32) {
        let Some(object) = self.all.get(number) else { return };
        let contents = object.contents.iter().map(|content| indexed_content(*content));
        for name in contents.chain(object.same().iter().map(|row| indexed(row.1))) {
            if let Some(users) = self.users.get_mut(name) {
                users.remove(number);
                if users.is_empty() {
                    self.users.remove(name);
                }
            }
        }
    }

    /// An object is gone, unless others have keys of it.
    fn discard(&mut self, number: u32) {
        if self.all.get(number).is_some_and(|object| object.shared().is_empty()) {
            self.all.remove(number);
        }
    }

    /// A claim is on its object.
    pub fn join(&mut self, number: u32, claim: u32) {
        self.idle.remove(number);
        if let Some(object) = self.all.get_mut(number) {
            object.on.add(claim);
        }
    }

    /// A claim is no longer followed.
    pub fn leave(&mut self, number: u32, claim: u32) {
        let Some(object) = self.all.get_mut(number) else { return };
        object.on.remove(claim);
        if !object.on.is_empty() {
            return;
        }
        if object.object_id.is_none() {
            self.unlist(number);
        } else {
            self.idle.add(number);
        }
    }

    /// An object without a name whose claim is forgotten, or on another object.
    pub fn forget(&mut self, number: u32) {
        if self.all.get(number).is_some_and(|object| object.object_id.is_none()) {
            self.discard(number);
        }
    }

    /// Call a function with the claims that a key belongs to, each with the position.
    pub fn owners(&self, claims: &Claims, key: Key, mut each: impl FnMut(u32, u64)) {
        let mut on = |object: &Object, position: u64| {
            for claim in object.on.iter() {
                if position < claims[claim].extent() {
                    each(claim, position);
                }
            }
        };
        let users = self.users.get(indexed(key));
        let identity = match key.of {
            Of::Object(number) => {
                if users.is_none_or(|users| !users.contains(number)) {
                    on(self.get(number), key.name);
                }
                None
            }
            Of::Identity(name) => Some(name),
            Of::Nobody => None,
        };
        for (number, positions) in users.into_iter().flat_map(Map::iter) {
            let object = self.get(number);
            if identity.is_none() || object.identity == identity {
                positions.iter().for_each(|position| on(object, position));
            }
        }
    }

    /// The claims on an object, and on those that have a key in common with it.
    pub fn sharing(&self, number: u32) -> Vec<u32> {
        let object = self.get(number);
        if object.contents.is_empty() && object.places.is_empty() && object.same().is_empty() {
            return object.on.iter().collect();
        }
        let mut found = Set::default();
        found.add(number);
        let contents = object.contents.iter().map(|content| indexed_content(*content));
        let places = object.places.iter().map(|place| Key::position(number, place.0, place.1));
        for key in contents.chain(places).chain(object.same().iter().map(|row| indexed(row.1))) {
            found.extend(self.users.get(key).into_iter().flat_map(Map::keys));
        }
        found.keys().flat_map(|each| self.get(each).on.iter()).collect()
    }

    /// The cache identity of the objects that hold a content, if any.
    pub fn identity_of(&self, content: Name) -> Option<Name> {
        self.users.get(indexed_content(content))?.keys().find_map(|each| self.get(each).identity)
    }

    /// A copy of a position was stated before its content was.
    pub fn note_place(&mut self, key: Key) {
        if let Of::Object(number) = key.of {
            if let Some(object) = self.all.get_mut(number) {
                object.places.add((key.group, key.name));
            }
        }
    }

    /// Move what is known of the positions of an object without a name to another object.
    pub fn move_places(&mut self, old: u32, new: u32, pool: &mut Pool) {
        let Some(old) = self.all.get_mut(old) else { return };
        let places = std::mem::take(&mut old.places);
        let old = old.number;
        let renamed: Vec<_> = places
            .iter()
            .map(|(g, at)| (self.key(self.get(old), g, at), self.key(self.get(new), g, at)))
            .collect();
        pool.rename(&renamed);
        if let Some(object) = self.all.get_mut(new) {
            let known = object.contents.len() as u64;
            places.iter().filter(|row| row.1 >= known).for_each(|row| object.places.add(row));
        }
    }

    /// Take the identity and the map of positions that an event states first of an object.
    pub fn bind(&mut self, number: u32, event: &Event) {
        if let Some(object) = self.all.get_mut(number) {
            object.identity = object.identity.or(event.cache_identity);
            object.token_map = object.token_map.or(event.token_map);
        }
    }

    /// The first positions of an object hold these; what was stated of positions is renamed.
    /// Whether that is news.
    pub fn state(
        &mut self, number: u32, event: &Event, pool: &mut Pool, names: &Names,
    ) -> Fine<bool> {
        let (object, contents) = (self.get(number), &event.keys[..]);
        let known = object.contents.len();
        let shared = known.min(contents.len());
        if contents[..shared] != object.contents[..shared] {
            return contradiction(
                Code::KeysContradict,
                "two contents of one position of an object are stated",
            );
        }
        if contents.len() <= known {
            return Ok(false);
        }
        if object.identity.is_none() {
            return contradiction(
                Code::KeysContradict,
                "keys of an object are stated without its cache identity",
            );
        }
        let more = &contents[known..];
        let mut sorted = contents.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return contradiction(
                Code::KeysContradict,
                "an object has one content at two of its positions",
            );
        }
        self.agree(number, more, names)?;
        let object = self.get(number);
        let named = |at: &(u64, u64)| known as u64 <= at.1 && at.1 < contents.len() as u64;
        let mut renamed = Vec::new();
        for (group, at) in object.places.iter().filter(|at| named(at)) {
            let new = Key::content(object.identity, group, contents[at as usize]);
            let old = self.key(object, group, at);
            if !matches!(old.of, Of::Object(_)) && old.name != new.name {
                return contradiction(
                    Code::KeysContradict,
                    "a block held two contents of one position of an object",
                );
            }
            renamed.push((old, new));
        }
        let object = self.all.get_mut(number).expect("it is on its claim");
        for (group, _) in &pool.groups {
            renamed.extend(more.iter().map(|&name| {
                (Key::content(None, *group, name), Key::content(object.identity, *group, name))
            }));
        }
        object.contents = contents.into();
        object.places = object.places.iter().filter(|at| !named(at)).collect();
        for (at, content) in more.iter().enumerate() {
            let users = self.users.entry(indexed_content(*content));
            users.entry(number).add((known + at) as u64);
        }
        renamed.iter().for_each(|&(old, new)| self.relist(old, new));
        pool.rename(&renamed);
        Ok(true)
    }

    /// All objects that go by the key of a position go by another one from now on, unless their
    /// contents say which.
    fn relist(&mut self, old: Key, new: Key) {
        let Of::Object(owner) = old.of else { return };
        let mut users = self.users.remove(old).unwrap_or_default();
        users.entry(owner).add(old.name);
        for (number, positions) in users.iter() {
            let Some(object) = self.all.get_mut(number) else { continue };
            let known = object.contents.len() as u64;
            for position in positions.iter().filter(|at| *at >= known) {
                let same = &mut object.united.get_or_insert_default().same;
                same.retain(|row| row.0 != (old.group, position));
                same.push(((old.group, position), new));
                self.users.entry(indexed(new)).entry(number).add(position);
            }
        }
    }

    /// One block holds both: a position has the key of the other from now on. Returns the object of
    /// the position; None if they cannot be one content.
    pub fn unite(&mut self, one: Key, other: Key, pool: &mut Pool) -> Option<u32> {
        let positional = |key: Key| matches!(key.of, Of::Object(_));
        let (one, other) = if positional(other) { (one, other) } else { (other, one) };
        let Of::Object(number) = other.of else { return None };
        let (object, position) = (self.get(number), other.name);
        let fits = one.group == other.group
            && match one.of {
                Of::Object(of) => {
                    let same = of != number && one.name == position;
                    same && self.get(of).agrees(object.identity, None)
                }
                _ => {
                    let identity = match one.of {
                        Of::Identity(identity) => Some(identity),
                        _ => None,
                    };
                    let users = self.users.get(indexed(one)).into_iter().flat_map(Map::iter);
                    let mut on = users.filter(|row| self.get(row.0).identity == identity);
                    let own = object.identity.is_none() || object.identity == identity;
                    own && on.any(|row| row.1.contains(position))
                }
            };
        self.all.get(number).filter(|_| fits)?;
        if let Of::Object(of) = one.of {
            if let Some(of) = self.all.get_mut(of) {
                of.united.get_or_insert_default().shared.push((one.group, one.name));
            }
        }
        self.relist(other, one);
        pool.rename(&[(other, one)]);
        Some(number)
    }

    fn agree(&self, number: u32, contents: &[Name], names: &Names) -> Fine {
        let Some(own) = self.get(number).identity else { return Ok(()) };
        for content in contents {
            for other in self.users.get(indexed_content(*content)).into_iter().flat_map(Map::keys) {
                if let Some(identity) = self.get(other).identity.filter(|each| *each != own) {
                    return contradiction(
                        Code::KeysContradict,
                        format!(
                            "the key {} is stated under two cache identities: {} and {}",
                            names.show(*content),
                            names.show(identity),
                            names.show(own)
                        ),
                    );
                }
            }
        }
        Ok(())
    }
}

/// What the objects that hold a key are listed under.
fn indexed(key: Key) -> Key {
    if matches!(key.of, Of::Object(_)) {
        return key;
    }
    Key { of: Of::Nobody, group: 0, name: key.name }
}

fn indexed_content(content: Name) -> Key {
    Key::content(None, 0, content)
}
