// Runs every case of the suite's wasm module, each in an instance of its own: node run.mjs MODULE [FILTER]
// The exit code says whether all passed.

import { readFileSync } from "node:fs";

const [path, filter = ""] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(path));

// An instance, and the text that it reported last.
function instance() {
  const state = { text: "" };
  const report = (text, length) => {
    const bytes = new Uint8Array(state.exports.memory.buffer, text, length);
    state.text = new TextDecoder().decode(bytes);
  };
  const made = new WebAssembly.Instance(module, { runner: { report } });
  state.exports = made.exports;
  return state;
}

const names = instance();
const count = names.exports.case_count();
const kinds = new Map();
let failed = 0;
for (let index = 0; index < count; index += 1) {
  names.exports.case_name(index);
  const name = names.text;
  if (!name.includes(filter)) continue;
  const kind = name.split(": ")[0];
  kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const it = instance();
  try {
    it.exports.case_run(index);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n  ${it.text || error}`);
  }
}
for (const [kind, cases] of kinds) console.log(`${kind}: ${cases} behaviours`);
if (kinds.size === 0) {
  console.log("no case was run");
  failed += 1;
}
process.exitCode = failed === 0 ? 0 : 1;
