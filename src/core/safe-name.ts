import { fingerprint } from './text.ts';

const LETTERS_MAX = 24;
const DIGITS_MAX = 13;
/** Of all words together that have a letter behind a digit: `k8s`, `i18n`, `e2e`, `3d`. */
const MIXED_MAX = 4;
const HEX_DIGITS_MAX = 24;
const SEPARATORS = ' ()-./:@_';

/**
 * An id or a name that a client or its user gives, as it may be stored. What neither makes is replaced by its fingerprint,
 * so that it stays one and the same without being told. Plain loops first: every hook has a few of these.
 */
export function safeName(name: string): string {
  return (isWords(name) && !name.includes('//')) || isHexadecimal(name) || isClientsId(name)
    ? name
    : `redacted-${fingerprint(name)}`;
}

/** Words of letters with a number behind them at most; of those with a letter behind a number only a few characters. */
function isWords(name: string): boolean {
  let letters = 0;
  let digits = 0;
  let isMixed = false;
  let mixed = 0;
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    const isDigit = code >= 0x30 && code <= 0x39;
    const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
    if (isDigit) digits++;
    else if (isLetter) letters++;
    else if (code <= 0x7f && !SEPARATORS.includes(name[index] as string)) return false;
    else {
      letters = digits = 0;
      isMixed = false;
    }
    if (isMixed) mixed++;
    else if (isLetter && digits > 0) {
      isMixed = true;
      mixed += letters + digits;
    }
    if (letters > LETTERS_MAX || digits > DIGITS_MAX || mixed > MIXED_MAX) return false;
  }
  return true;
}

/** Hexadecimal digits, of which a UUID has the most: with its four dashes, or without any, as background runs have it. */
function isHexadecimal(name: string): boolean {
  let digits = 0;
  for (let index = 0; index < name.length; index++) {
    const code = name.charCodeAt(index);
    if ((code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66)) digits++;
    else if (code !== 0x2d) return false;
  }
  const isUuid = name.length === 32 || (name.length === 36 && name[8] === '-' && name[23] === '-');
  return digits <= HEX_DIGITS_MAX || (isUuid && digits === 32);
}

/** The ids of calls, messages and sessions, and the keys of background runs; Gemini CLI's calls have a tool and a time. */
function isClientsId(name: string): boolean {
  return /^(?:agent:[a-z][\w-]{0,24}:subagent:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|agent-a?(?:[a-z]{1,20}-)?[0-9a-f]{1,24}|[a-z]+(?:_[a-z]+){0,5}-\d{13}-[0-9a-f]{1,14}|(?:toolu|srvtoolu|call|ses|msg|prt|req|fc|item|thread|turn|chatcmpl|resp)[-_](?:[A-Za-z0-9]{2,10}[-_]){0,2}[A-Za-z0-9]{1,56})$/.test(
    name,
  );
}
