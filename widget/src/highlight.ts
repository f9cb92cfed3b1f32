export function highlight(url: string): void { location.hash = new URL(url).hash; }
