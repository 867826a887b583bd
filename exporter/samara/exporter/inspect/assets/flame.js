// SPDX-License-Identifier: Apache-2.0
// The picture of time by module: a click on a box makes it as wide as the page, a click on it again undoes that.

for (const flame of document.querySelectorAll(".flame")) {
  const frames = [...flame.querySelectorAll(".frame, .rest")];
  let chosen = null;
  flame.addEventListener("click", (event) => {
    const frame = event.target.closest("button")?.parentElement;
    if (!frame) return;
    chosen = frame === chosen ? null : frame;
    for (const other of frames) {
      other.hidden = chosen !== null && !other.contains(chosen) && !chosen.contains(other);
    }
    // What surrounds the chosen box shows nothing else than it.
    for (const other of frames) other.classList.toggle("around", chosen !== null && other !== chosen && other.contains(chosen));
  });
}
