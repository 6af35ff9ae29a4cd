/**
 * A short name of a text, 53 bits as at most 11 letters and digits: the same text gives the same name on every
 * machine. To recognise texts, not to protect them: who has the text can make another with the same name.
 */
export function fingerprint(text: string): string {
  // Two FNV-1a sums with different starts, each stirred once more at the end.
  let low = 0x811c9dc5;
  let high = 0x9e3779b9;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b);
  }
  low = Math.imul(low ^ (low >>> 15) ^ high, 0x2c1b3c6d);
  high = Math.imul(high ^ (high >>> 13) ^ low, 0x297a2d39);
  return ((high >>> 11) * 0x1_0000_0000 + ((low ^ (low >>> 16)) >>> 0)).toString(36);
}
