// Asks the built site's own search for the queries of a file, and fails if one finds another page first.
//     node site_search.mjs SITE FILE [--show]     --show prints the first three pages of each
import { readFileSync, readdirSync } from "node:fs";
import vm from "node:vm";

const [site, list, show] = process.argv.slice(2);
const workers = `${site}/assets/javascripts/workers/`;
const worker = readdirSync(workers).find((name) => name.startsWith("search."));
let answer;
const self = { postMessage: (message) => answer(message) };
vm.runInNewContext(readFileSync(workers + worker, "utf8"), { self, Intl });

function ask(type, data) {
  return new Promise((resolve) => {
    answer = resolve;
    self.onmessage({ data: { type, data } });
  });
}

const index = JSON.parse(readFileSync(`${site}/search.json`, "utf8"));
await ask(0, index);
const NO_TAGS = { type: "operator", data: { operator: "and", operands: [] } };
let asked = 0;
let wrong = 0;
for (const line of readFileSync(list, "utf8").split("\n")) {
  if (!line || line.startsWith("#")) continue;
  asked += 1;
  const [query, page] = line.split(" → ");
  const message = await ask(2, { input: query, filter: { input: NO_TAGS } });
  if (message.type !== 3) throw new Error(`the search cannot be asked: ${JSON.stringify(message)}`);
  const places = message.data.items.map((item) => index.items[item.id].location);
  if (show) console.log(`${query} → ${places.slice(0, 3).join(", ")}`);
  if (!(places[0] ?? "").startsWith(page)) {
    wrong += 1;
    console.error(`"${query}" finds ${places[0] ?? "nothing"} first, not ${page}`);
  }
}
console.log(`${asked} searches, ${wrong} find another page first`);
process.exit(asked && !wrong ? 0 : 1);
