//! Finds the claims that a key belongs to: objects by their ids, and content keys by the objects.

use crate::breaks::{Code, Contradiction, Fine};
use crate::claim::Claims;
use crate::event::Event;
use crate::map::{Hashed, Map, Set};
use crate::names::{Name, Names};
use crate::pool::{Key, Of, Pool};
use crate::record;

const IDLE: usize = 65_536;

record! {
    /// What claims are made for. `contents` are the keys of its first positions, once stated;
    /// `places` the groups and positions of which copies were stated before their content was,
    /// in order; `on` the claims on it.
    #[derive(Default)]
    pub struct Object {
        number: u32,
        object_id: Option<Name>,
        identity: Option<Name>,
        token_map: Option<Name>,
        contents: Vec<Name>,
        places: Vec<(u64, u64)>,
        on: Set<u32>,
    }
}

impl Object {
    /// The key of a position.
    pub fn key(&self, group: u64, position: u64) -> Key {
        match self.contents.get(position as usize) {
            Some(content) => Key::content(self.identity, group, *content),
            None => Key::position(self.number, group, position),
        }
    }

    fn agrees(&self, identity: Option<Name>, token_map: Option<Name>) -> bool {
        let same = |own: Option<Name>, stated: Option<Name>| {
            own.is_none() || stated.is_none() || own == stated
        };
        same(self.identity, identity) && same(self.token_map, token_map)
    }

    fn add_place(&mut self, place: (u64, u64)) {
        if self.places.last().is_none_or(|last| *last < place) {
            self.places.push(place);
        } else if let Err(at) = self.places.binary_search(&place) {
            self.places.insert(at, place);
        }
    }
}

record! {
    /// The objects of a stream, and the objects that hold each content, with its position.
    #[derive(Default)]
    pub struct Objects {
        all: Hashed<u32, Object>,
        count: u32,
        by_id: Hashed<Name, Vec<u32>>,
        idle: Set<u32>,
        users: Hashed<Name, Map<u32, u64>>,
        none: Object,
    }
}

impl Objects {
    /// An object; an empty one where it is no longer known.
    pub fn get(&self, number: u32) -> &Object {
        self.all.get(&number).unwrap_or(&self.none)
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

    /// The object that an event states, which is new if there is none; None if it states none.
    pub fn meant(&mut self, event: &Event, names: &Names) -> Fine<Option<u32>> {
        let Some(id) = event.object_id else { return Ok(None) };
        let about = (id, event.cache_identity, event.token_map);
        let found = self.find(about);
        if found.len() > 1 {
            let text = format!("two objects are called {}", names.show(id));
            return Err(Contradiction::new(Code::ObjectAmbiguous, text));
        }
        Ok(Some(found.first().copied().unwrap_or_else(|| self.add(about))))
    }

    /// The objects of this id that agree with what else is stated.
    pub fn find(&self, about: (Name, Option<Name>, Option<Name>)) -> Vec<u32> {
        let named = self.by_id.get(&about.0).into_iter().flatten();
        named.copied().filter(|number| self.get(*number).agrees(about.1, about.2)).collect()
    }

    /// A new object of this id, cache identity and map of positions.
    pub fn add(&mut self, (id, identity, token_map): (Name, Option<Name>, Option<Name>)) -> u32 {
        let of = Object { object_id: Some(id), identity, token_map, ..Object::default() };
        let number = self.made(of);
        self.by_id.entry(id).or_default().push(number);
        self.rest(number);
        number
    }

    /// An object has no claim; so many are remembered.
    fn rest(&mut self, number: u32) {
        self.idle.add(number);
        if self.idle.len() > IDLE {
            if let Some((oldest, ())) = self.idle.pop_first() {
                self.unlist(oldest);
                let id = self.all.remove(&oldest).and_then(|object| object.object_id);
                if let Some(named) = id.and_then(|id| self.by_id.get_mut(&id)) {
                    named.retain(|each| *each != oldest);
                    if named.is_empty() {
                        id.map(|id| self.by_id.remove(&id));
                    }
                }
            }
        }
    }

    fn unlist(&mut self, number: u32) {
        let Some(object) = self.all.get(&number) else { return };
        for content in &object.contents {
            if let Some(users) = self.users.get_mut(content) {
                users.remove(number);
                if users.is_empty() {
                    self.users.remove(content);
                }
            }
        }
    }

    /// A claim is on its object.
    pub fn join(&mut self, number: u32, claim: u32) {
        self.idle.remove(number);
        if let Some(object) = self.all.get_mut(&number) {
            object.on.add(claim);
        }
    }

    /// A claim is no longer followed.
    pub fn leave(&mut self, number: u32, claim: u32) {
        let Some(object) = self.all.get_mut(&number) else { return };
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
        if self.all.get(&number).is_some_and(|object| object.object_id.is_none()) {
            self.all.remove(&number);
        }
    }

    /// Call a function with the claims that a key belongs to, each with the position.
    pub fn owners(&self, claims: &Claims, key: Key, mut each: impl FnMut(u32, u64)) {
        let mut on = |object: &Object, position: u64| {
            for claim in object.on.keys() {
                if position < claims[claim].extent() {
                    each(claim, position);
                }
            }
        };
        let identity = match key.of {
            Of::Object(number) => return on(self.get(number), key.name),
            Of::Identity(name) => Some(name),
            Of::Nobody => None,
        };
        let users = Name::from_raw(key.name as u32).and_then(|name| self.users.get(&name));
        for (number, position) in users.into_iter().flat_map(Map::iter) {
            let object = self.get(number);
            if object.identity == identity {
                on(object, *position);
            }
        }
    }

    /// The cache identity of the objects that hold a content, if any.
    pub fn identity_of(&self, content: Name) -> Option<Name> {
        let first = self.users.get(&content)?.keys().next()?;
        self.get(first).identity
    }

    /// A copy of a position was stated before its content was.
    pub fn note_place(&mut self, key: Key) {
        if let Of::Object(number) = key.of {
            if let Some(object) = self.all.get_mut(&number) {
                object.add_place((key.group, key.name));
            }
        }
    }

    /// Move what is known of the positions of an object without a name to another object.
    pub fn move_places(&mut self, old: u32, new: u32, pool: &mut Pool) {
        let places = self.all.get_mut(&old).map_or(Vec::new(), |o| std::mem::take(&mut o.places));
        let renamed: Vec<_> = places
            .iter()
            .map(|&(g, at)| (self.get(old).key(g, at), self.get(new).key(g, at)))
            .collect();
        pool.rename(&renamed);
        if let Some(object) = self.all.get_mut(&new) {
            let known = object.contents.len() as u64;
            places.into_iter().filter(|row| row.1 >= known).for_each(|row| object.add_place(row));
        }
    }

    /// Take the identity and the map of positions that an event states of an object; whether keys
    /// of the pool have another name now.
    pub fn bind(&mut self, number: u32, event: &Event, pool: &mut Pool, names: &Names) -> Fine<bool> {
        let Some(object) = self.all.get_mut(&number) else { return Ok(false) };
        object.token_map = object.token_map.or(event.token_map);
        if object.identity.is_some() || event.cache_identity.is_none() {
            return Ok(false);
        }
        let keys = |object: &Object| -> Vec<Key> {
            let positions = 0..object.contents.len() as u64;
            let of = |g: u64| positions.clone().map(move |at| object.key(g, at));
            pool.groups.iter().flat_map(|(group, _)| of(*group)).collect()
        };
        let before = keys(object);
        object.identity = event.cache_identity;
        let after = keys(object);
        let contents = object.contents.clone();
        self.agree(number, &contents, names)?;
        pool.rename(&before.iter().copied().zip(after).collect::<Vec<_>>());
        Ok(!before.is_empty())
    }

    /// The first positions of an object hold these; what was stated of positions is renamed.
    /// Whether that is news.
    pub fn state(&mut self, number: u32, event: &Event, pool: &mut Pool, names: &Names) -> Fine<bool> {
        let (object, contents) = (self.get(number), &event.keys[..]);
        let known = object.contents.len();
        let shared = known.min(contents.len());
        if contents[..shared] != object.contents[..shared] {
            let text = "two contents of one position of an object are stated";
            return Err(Contradiction::new(Code::KeysContradict, text));
        }
        if contents.len() <= known {
            return Ok(false);
        }
        let more = &contents[known..];
        let mut sorted = contents.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            let text = "an object has one content at two of its positions";
            return Err(Contradiction::new(Code::KeysContradict, text));
        }
        self.agree(number, more, names)?;
        let object = self.all.get_mut(&number).expect("it is on its claim");
        let named = |at: &(u64, u64)| known as u64 <= at.1 && at.1 < contents.len() as u64;
        let mut renamed = Vec::new();
        for &(group, at) in object.places.iter().filter(|at| named(at)) {
            let new = Key::content(object.identity, group, contents[at as usize]);
            renamed.push((object.key(group, at), new));
        }
        if object.identity.is_some() {
            for (group, _) in &pool.groups {
                renamed.extend(more.iter().map(|&name| {
                    (Key::content(None, *group, name), Key::content(object.identity, *group, name))
                }));
            }
        }
        object.contents = contents.to_vec();
        object.places.retain(|at| !named(at));
        for (at, content) in more.iter().enumerate() {
            self.users.entry(*content).or_default().insert(number, (known + at) as u64);
        }
        pool.rename(&renamed);
        Ok(true)
    }

    fn agree(&self, number: u32, contents: &[Name], names: &Names) -> Fine {
        let Some(own) = self.get(number).identity else { return Ok(()) };
        for content in contents {
            for other in self.users.get(content).into_iter().flat_map(Map::keys) {
                if let Some(identity) = self.get(other).identity.filter(|each| *each != own) {
                    let text = format!(
                        "the key {} is stated under two cache identities: {} and {}",
                        names.show(*content),
                        names.show(identity),
                        names.show(own)
                    );
                    return Err(Contradiction::new(Code::KeysContradict, text));
                }
            }
        }
        Ok(())
    }
}
