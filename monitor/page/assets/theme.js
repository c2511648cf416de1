// Switches between light and dark; at first the page follows the system.
function theme_button(changed = () => {}) {
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
    root.dataset.theme = dark ? "light" : "dark";
    changed();
  });
  system.addEventListener("change", changed);
}
