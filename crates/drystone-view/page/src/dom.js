// Lists of names and values.

/** Names and values in a description list; elements are kept where their number stays. */
export function fill(list, rows) {
    if (list.children.length !== 2 * rows.length) list.replaceChildren(...rows.flatMap(() => [document.createElement("dt"), document.createElement("dd")]));
    rows.forEach(([name, value], i) => { list.children[2 * i].textContent = name; list.children[2 * i + 1].textContent = value; });
}
