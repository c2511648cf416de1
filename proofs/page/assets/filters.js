// Filters what has the attribute data-row by the choices of the form, and hides what is then empty.
const form = document.getElementById("filters"), count = document.getElementById("match-count");

function filter() {
  const asked = Object.entries(Object.fromEntries(new FormData(form))).filter(([, value]) => value);
  const left_out = ({ dataset }) => asked.some(([name, value]) => !dataset[name].split(" ").includes(value));
  for (const row of document.querySelectorAll("[data-row]")) row.hidden = left_out(row);
  const mode = form.elements.mode.value;
  for (const cell of document.querySelectorAll("[data-column]")) cell.hidden = mode !== "" && cell.dataset.column !== mode;
  for (const group of document.querySelectorAll("[data-group]"))
    group.hidden = !group.querySelector("[data-row]:not([hidden])");
  const all = document.querySelectorAll("details[data-row]");
  const shown = [...all].filter((each) => !each.hidden).length;
  count.textContent = `${shown} of ${all.length} answers`;
}

form.hidden = false;
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
filter();
