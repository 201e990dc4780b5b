// Sets the remembered colours before the first paint; runs in the head for that reason.
"use strict";
document.documentElement.classList.add("js");
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage is off: the system's colours hold */ }
