// Copying, also where the clipboard cannot be reached directly.

/** Copies a text, and tells whether that worked. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// The clipboard is missing on plain-http hosts other than localhost.
function copyBySelection(text: string): boolean {
  const copy = (event: ClipboardEvent) => {
    event.preventDefault();
    event.clipboardData?.setData("text/plain", text);
  };
  document.addEventListener("copy", copy, { once: true, capture: true });
  const copied = document.execCommand("copy");
  document.removeEventListener("copy", copy, { capture: true });
  return copied;
}
