// SPDX-License-Identifier: Apache-2.0
// Tables whose heads sort: numbers by value, everything else as text.

function cellValue(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = /^[-+]?[\d,]*\.?\d+/.test(text) ? parseFloat(text.replaceAll(",", "")) : NaN;
  const unit = /^[-+\d.,]+ ?([kMGT]|[KMG]iB)?/.exec(text)?.[1];
  const factor = { k: 1e3, M: 1e6, G: 1e9, T: 1e12, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[unit] ?? 1;
  return { text, number: number * factor };
}
function sortTable(table, column, way) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, ...cellValue(row, column) }));
  // Cells without a number come last where some have one.
  const numeric = rows.some((r) => !Number.isNaN(r.number));
  rows.sort((a, b) => {
    if (!numeric) return way * a.text.localeCompare(b.text);
    if (Number.isNaN(a.number) || Number.isNaN(b.number)) return Number.isNaN(a.number) - Number.isNaN(b.number);
    return way * (a.number - b.number);
  });
  body.append(...rows.map((r) => r.row));
}
for (const table of document.querySelectorAll("table.sortable")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    if (!button.textContent) button.textContent = "#";
    head.append(button);
    button.addEventListener("click", () => {
      // The largest first, unless it is that already.
      const way = head.ariaSort === "descending" ? 1 : -1;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      sortTable(table, column, way);
    });
  });
}
