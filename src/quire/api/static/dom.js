// The few DOM helpers the page needs. Text only ever enters through text nodes.

/** Makes an element; `on…` properties are listeners, `null` and `false` leave an attribute out. */
export function make(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Makes a button that copies what `text()` gives and says whether it worked. */
export function copyButton(label, text, properties = {}) {
  const button = make("button", { type: "button", class: "quiet", ...properties }, label);
  button.addEventListener("click", async () => {
    const copied = await copyText(text());
    button.textContent = copied ? "Copied" : "Could not copy";
    announce(button.textContent);
    setTimeout(() => (button.textContent = label), 2000);
  });
  return button;
}

/** Says something to screen readers. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// The clipboard API is missing on plain-http hosts other than localhost.
function copyBySelection(text) {
  const before = document.activeElement;
  const field = make("textarea", { class: "unseen", readonly: true });
  field.value = text;
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  before?.focus();
  return copied;
}
