// Code in a table breaks first behind `::`, `(` and `_`, and in front of a dot.
for (const code of document.querySelectorAll(".content table code")) {
  const parts = code.textContent.split(/(?<=::|\((?!\))|_)|(?=\.)/);
  code.replaceChildren(...parts.flatMap((part) => [part, document.createElement("wbr")]));
}
