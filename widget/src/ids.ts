// Random ids, also on pages without TLS, where browsers leave `randomUUID` out.

export function newId(): string {
  if ("randomUUID" in crypto) return crypto.randomUUID();
  const bytes = new Uint8Array(16);
  (crypto as Crypto).getRandomValues(bytes);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
