/** What stands in an element: texts are inserted as texts, whatever is written in them. */
export type Child = Node | string | number | null | readonly Child[];

/** An element. Attributes are names of ours; `undefined` leaves one out. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string | number | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(key, String(value));
  append(element, children);
  return element;
}

function append(element: HTMLElement, children: readonly Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child !== null) element.append(child instanceof Node ? child : String(child));
  }
}

/** A text in which what stands between backticks is code. */
export function withCode(text: string): Child[] {
  return text.split('`').map((part, index) => (index % 2 === 0 ? part : h('code', {}, part)));
}
