// What an answer rests on: names, links, and the text to copy.

/** Names where something stands in the book. */
export function place({ chapter, section }) {
  return !section || section === chapter ? chapter : `${chapter} › ${section}`;
}

/** Gives the sources that a claim of the answer cites, in the order of their numbers. */
export function citedSources({ claims, sources }) {
  const cited = new Set(claims.flatMap(proofs).map((quote) => quote.chunk_id));
  return sources.filter((source) => cited.has(source.chunk_id));
}

/** Gives the quotes that prove a claim; those of a contradicted one speak against it. */
function proofs({ verdict, citations }) {
  return verdict === "contradicted" ? [] : citations;
}

/** Links to the page of the book that this service shows, at the words the citation or source names. */
export function contextLink({ book, sources }, { chunk_id: chunkId, url }) {
  const source = sources.find((candidate) => candidate.chunk_id === chunkId);
  if (!source || !book) return null;
  const path = [book, ...source.source_file.split("/")].map(encodeURIComponent).join("/");
  const page = new URL(`read/${path}`, document.baseURI).pathname;
  const hash = url.indexOf("#");
  return hash < 0 ? page : page + url.slice(hash);
}

/** Writes the answer with every quote that proves it, for pasting elsewhere. */
export function copyable({ text, claims }) {
  const quotes = claims
    .flatMap(proofs)
    .toSorted((a, b) => a.number - b.number)
    .map((quote) => `[${quote.number}] ${place(quote)}: “${oneLine(quote.quote)}” ${quote.url}`);
  return `${text}\n\nSources\n${[...new Set(quotes)].join("\n")}\n`;
}

function oneLine(text) {
  return text.replace(/\s+/g, " ").trim();
}
