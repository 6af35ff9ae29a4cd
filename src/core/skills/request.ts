import { cutText } from '../text.ts';
import { misspelledEntry } from './english.ts';
import { splitKorean } from './korean.ts';
import { lexicon } from './lexicon.ts';

/**
 * What a prompt asks for, in pieces. A skill is only suggested to somebody who wants something done: not for a
 * question, an answer ("the second one"), a refusal, or an error without a word.
 */
export type Piece = {
  readonly text: string;
  /** `request`: says what is to be done. `setting`: stands next to a request and says why or where. */
  readonly role: 'request' | 'setting';
  /** How much the piece says about what is wanted, 0 to 1. */
  readonly weight: number;
};

/** `fragment`: a phrase without a verb, which asks for something when it stands alone. */
type Role = 'request' | 'fragment' | 'setting' | 'question' | 'refusal';
type Clause = { readonly text: string; readonly role: Role; readonly sentence: number };

const PROMPT_LENGTH_MAX = 8192;
const LINES_MAX = 200;
const LINE_START_LENGTH = 200;
const CLAUSE_END_LENGTH = 60;
const CLAUSES_MAX = 200;
const FRAGMENT_WORDS_MAX = 8;
const FRAGMENT_CLAUSES_MAX = 3;

/** The pieces of the prompt that count; none when it asks for nothing. Must not throw. */
export function readRequest(prompt: string): Piece[] {
  const typed = withoutPasted(cutText(prompt, PROMPT_LENGTH_MAX).normalize('NFC'));
  const clauses = readClauses(typed);
  const requests = clauses.filter(({ role }) => role === 'request');
  const asked = requests.length > 0 ? requests : lastFragment(clauses);
  if (asked.length === 0) return [];
  return clauses
    .filter((clause) => asked.includes(clause) || clause.role !== 'refusal')
    .map((clause): Piece => {
      const { text } = clause;
      if (asked.includes(clause)) return { text, role: 'request', weight: 1 };
      return { text, role: 'setting', weight: settingWeight(clause, asked) };
    });
}

/** What is said in the same sentence belongs to the request, what is far away hardly does. */
function settingWeight({ role, sentence }: Clause, asked: readonly Clause[]): number {
  const distance = Math.min(...asked.map((request) => Math.abs(request.sentence - sentence)));
  const weight = distance === 0 ? 0.9 : distance === 1 ? 0.6 : 0.2;
  return role === 'question' ? weight / 2 : weight;
}

/** "release notes for 3.2", "빌드 통과. 스테이징 배포": a short prompt that is, or ends with, what is wanted. */
function lastFragment(clauses: readonly Clause[]): readonly Clause[] {
  const last = clauses.at(-1);
  if (last?.role !== 'fragment' || clauses.length > FRAGMENT_CLAUSES_MAX) return [];
  return last.text.split(/\s+/, FRAGMENT_WORDS_MAX + 1).length <= FRAGMENT_WORDS_MAX ? [last] : [];
}

/** Lines of stack traces, logs, listings and code, which nobody typed. */
const PASTED = [
  /^\s*at\s.*[:(]\d|^\s*at async\s|^\s*File ".*", line/,
  /^\s*\d+:\d+\s|^\s*\d{4}-\d\d-\d\d|^\s*\[\d/,
  /^\s*(?:[|>$#%✗✖✕●×❯√✓]|[+-]{3}\s|@@\s)/,
  /^\s*(?:npm|yarn|pnpm) (?:ERR!|error|warn)/i,
  /^\s*(?:fatal|error|warning|warn|panic|err|info|debug|fail(?:ed)?|caused by|traceback|uncaught|unhandled)\b[^가-힣]{0,40}[:(\]]/i,
  /^\s*(?:FAIL(?:ED)?\s|Traceback)/,
  /^\s*\S*(?:Error|Exception|Warning)\b[^가-힣]{0,20}:/,
  /^\s*\S+[:(]\d+[:,)]?/,
  /^\s*\S+\/\S+\.\w+\s*$/,
  /^\s*[A-Z]{4,}[_:]/,
];
const KOREAN_REQUEST_WORD = /줘|주세요|주실|부탁|달라/;

function withoutPasted(prompt: string): string {
  const prose = prompt.replace(/```[\s\S]*?(?:```|$)/g, '\n').replace(/https?:\/\/\S+/g, ' ');
  const lines = prose.replace(/[^\S\n]+/g, ' ').split('\n', LINES_MAX);
  return lines.filter((line) => !isPasted(line)).join('\n');
}

function isPasted(line: string): boolean {
  const start = line.slice(0, LINE_START_LENGTH);
  const isShaped = /[{};] ?$/.test(line) || PASTED.some((shape) => shape.test(start));
  return isShaped && !KOREAN_REQUEST_WORD.test(line);
}

function readClauses(text: string): Clause[] {
  const clauses: Clause[] = [];
  let sentence = 0;
  for (const line of text.split(/(?<=[.!?。…~])\s+|\n+/)) {
    sentence++;
    for (const { role, text } of /[가-힣]/.test(line) ? koreanClauses(line) : englishClauses(line)) {
      if (clauses.length >= CLAUSES_MAX) return clauses;
      if (text !== '') clauses.push({ text, role, sentence });
    }
  }
  return clauses;
}

type Part = { readonly role: Role; readonly text: string };

/* Korean: the end of a clause says what it is. */

/** Behind clauses that set the scene for the next one, and sentences without a full stop. */
const KOREAN_BOUNDARY =
  /(?<=[가-힣 ](?:는데|은데|인데|니까|으니|라서|지만|거든|거든요|네요|어요|아요|습니다|어서|했어|됐어|었어|았어|렸어|졌어|꼈어|뀌었어|줘|줘요|주세요|말고|않고|대신|면))[,.]?\s+(?!좋|돼|되|안 |고맙|감사)|,\s+/;
const KOREAN_REFUSAL =
  /지 ?(?:마|말|않)|하지마|말고|안 ?해도|필요(?:는|도|가)?(?: ?전혀)? ?없|않고|대신|없이|나중에/;
const KOREAN_WISH =
  /(?:줘[요라]?|줭|주세[요용]|주십시오|주십쇼|주셈|주삼|주라|주렴|줄래요?|줄 ?수|주실|주시|주면|주길|주겠|해죠|해조|헤줘|달라|달라고|부탁|바랍니다|바라|바람|요청(?:드|합)\S*|하라|해라|하자|합시다|보자|가자|놔|둬|고 ?싶|[려]고 ?(?:해|하는|합)|좋겠|야 ?(?:할|해|돼|되|될|겠|하|함)|필요(?:해|하|할|합|한)|봐봐|봐요?|보세요|하세요|세요|할래요?|하기|할 것|ㄱㄱ|고고|진행|자)(?=$|[\s.!?~…,ㅋㅎㅠ^);]|\S{0,8}$)/;
const KOREAN_QUESTION =
  /뭐|뭔|뭘|무엇|무슨|왜|어디|언제|누가|누구|몇|어느|어때|어떤|어떻게|얼마|차이|까요?\s*\??$|나요\s*\??$|인가|인지|건지|는지|을지|니\s*\?|냐\s*\??$|\?/;
const KOREAN_STATEMENT =
  /(?:[했됐었았였렸졌꼈떴났왔갔봤썼뀌네지음임]|구나|는군|거든|완료|끝|중|성공|실패|안 ?돼|안 ?되|안 ?나와|이상해|있어|없어|떠|나와|같아)[다어요네지]*[.!~…]*$/;

function koreanClauses(sentence: string): Part[] {
  const texts = sentence.split(KOREAN_BOUNDARY).map((text) => text.trim());
  const parts = texts.filter((text) => text !== '');
  return parts.map((text, at) => ({ text, role: koreanRole(text, at === parts.length - 1) }));
}

function koreanRole(clause: string, isLast: boolean): Role {
  if (KOREAN_REFUSAL.test(clause) && !/(?:줘|주세요|싶)\S*$/.test(clause)) return 'refusal';
  if (isKoreanWish(clause)) return 'request';
  if (KOREAN_QUESTION.test(clause)) return 'question';
  if (!isLast || KOREAN_STATEMENT.test(clause.slice(-CLAUSE_END_LENGTH))) return 'setting';
  const last = clause.match(/[가-힣]+/g)?.at(-1) ?? '';
  const ending = splitKorean(last).at(-1)?.ending;
  return ending === undefined || ending === 'none' || ending === 'verb' ? 'fragment' : 'setting';
}

/** "해 줄까?" offers, "달라고 했어" reports: neither asks. */
function isKoreanWish(clause: string): boolean {
  if (!KOREAN_WISH.test(clause) || /달라고 ?(?:했|하|해서)/.test(clause)) return false;
  return !/(?:까요?|나)\s*\??$/.test(clause.replace(/(?:주실|주시|줄).*$/, ''));
}

/* English: the beginning of a clause says what it is. */

const ENGLISH_BOUNDARY =
  /[,;:]\s+|\s+[-–—]+\s+|\s+(?:and then|then|so|but|because|since|before|after|when|while|until|if|once|instead of|rather than)\s+(?=\S)/i;
const FILLERS =
  /^(?:(?:ok|okay|now|so|and|then|also|please|pls|plz|just|hey|hi|hello|well|alright|great|thanks|thank you|cool|nice|perfect|first|next|finally|quickly|actually|maybe|claude|right|yes|yep|sure|good|let'?s|let us|go ahead and|time to|it'?s time to|help me|try to|make sure to|you should|remember to|feel free to|kindly|how about|why don'?t (?:you|we))\b[\s,!]*)+/i;
const POLITE =
  /^(?:(?:can|could|would|will) you(?: please| kindly| just| also| quickly)*|(?:can|could) we(?: please| get| have)+|(?:i|we)(?:'d| would)? (?:want|need|like|love|wish)(?: you)?(?: to)?|(?:i|we) (?:should|must|have to|need to|gotta)|i'd like (?:you )?to|(?:i'm|i am|we're|we are) (?:trying|looking|hoping|going|ready) to|i'?d appreciate(?: it)? if you could|(?:it )?would be (?:great|nice|good) (?:to|if you (?:could|can)?)|is it possible to|any chance (?:you|we) (?:can|could)|(?:do|would) you mind|mind|need(?: you)?(?: to)?|want(?: you)? to|ready to)\s+/i;
const QUESTION_START =
  /^(?:what|whats|what's|why|how|who|whose|where|when|which|is|are|was|were|does|do (?:we|you|i|they|the|these|those)|did|has|have (?:we|you|i|they)|had|should|shall|am|any idea|anyone|wondering|curious|isn't|aren't|doesn't|didn't|don't (?:we|you)|(?:can|could) (?:i|we|it|this|that|the)|(?:would|will) (?:it|this|that|the))\b/i;
const REFUSAL_START =
  /^(?:don'?t|do not|never|no|not|without|stop|hold off|leave|skip|wait|(?:i|we) don'?t|let'?s not|no need|instead of|rather than)\b/i;
const SUBJECT_START =
  /^(?:i|we|you|they|he|she|it|it's|i'm|i've|we're|we've|there|this|that|these|those|the|a|an|my|our|your|his|her|their|some|all|every|most|no|nothing|everything|someone|somebody|people|\d)\b/i;
/** "the types need regenerating", "the sidebar should be flagged". */
const NEEDED =
  /\bneeds?\s+(?:\w+ing\b|(?:a|an|some|more|new)\s)|\b(?:needs? to|should|must|has to|have to|ought to)\s+be\s+\w+ed\b/i;
/** What follows a verb that the glossary does not know: `whip up the …`. */
const VERB_LIKE =
  /^[a-z]+(?:\s+(?:up|out|off|over|through|down|in|on|into|together))?\s+(?:the|a|an|my|our|this|that|these|those|all|every|each|some|it|any|me|both|new|another|what|whatever|everything)\b/i;
/** "deploy to staging", not "release notes". */
const DEED_LIKE =
  /^\S+(?:$|\s+(?:to|the|a|an|my|our|this|that|these|those|all|every|each|some|it|any|me|on|in|from|back|for|with|now|again|and|everything|what|whatever|current|latest)\b)/i;
const FINITE =
  /\b(?:is|are|was|were|am|has|had|have|does|did|don'?t|doesn'?t|didn'?t|isn'?t|aren'?t|wasn'?t|can'?t|won'?t|will|would|can|could|keeps?|takes?|fails?|failed|passes|passed|broke|says?|said|gets?|got|goes|went|works?|worked|stopped|started|changed|still|seems?|looks|just)\b/i;

function englishClauses(sentence: string): Part[] {
  const isAsked = /\?\s*$/.test(sentence);
  const parts: Part[] = [];
  let rest = sentence;
  let joint = '';
  while (rest !== '' && parts.length < CLAUSES_MAX) {
    const boundary = ENGLISH_BOUNDARY.exec(rest);
    const text = (boundary === null ? rest : rest.slice(0, boundary.index)).trim();
    parts.push({ text, role: continued(englishRole(text, joint, isAsked), parts.at(-1)?.role, text) });
    joint = boundary?.[0].trim().toLowerCase() ?? '';
    rest = boundary === null ? '' : rest.slice(boundary.index + boundary[0].length);
  }
  return parts;
}

/** A list goes on: "add a button, a menu and an icon". */
function continued(role: Role, before: Role | undefined, text: string): Role {
  if (role !== 'fragment' || before === undefined || before === 'setting') return role;
  return text.split(/\s+/, FRAGMENT_WORDS_MAX + 1).length <= FRAGMENT_WORDS_MAX ? before : role;
}

function englishRole(clause: string, joint: string, isAsked: boolean): Role {
  if (/^(?:because|since|when|while|if|once|until|after|before)$/.test(joint)) return 'setting';
  if (/^(?:instead of|rather than)$/.test(joint)) return 'refusal';
  const bare = clause.replace(FILLERS, '');
  if (REFUSAL_START.test(bare)) return 'refusal';
  if (/^(?:when|if|once|after|before|since|while|because|as soon as)\b/i.test(bare) && !isAsked)
    return 'setting';
  const asked = bare.replace(POLITE, '');
  if (asked.length < bare.length) {
    return /^(?:your|to know|to understand|know)\b/i.test(asked) ? 'question' : 'request';
  }
  if (QUESTION_START.test(bare)) return 'question';
  if (/^do (?:a|an|the|some|another|one)\b/i.test(bare)) return 'request';
  if (!SUBJECT_START.test(bare) && isImperative(bare)) return 'request';
  if (isAsked && !SUBJECT_START.test(bare)) return 'question';
  if (/\b(?:please|pls|plz)\b/i.test(clause) || NEEDED.test(clause)) return 'request';
  return SUBJECT_START.test(bare) || FINITE.test(bare) ? 'setting' : 'fragment';
}

function isImperative(clause: string): boolean {
  if (VERB_LIKE.test(clause)) return true;
  const [first = '', second = ''] = clause.toLowerCase().split(/[^a-z'-]+/, 2);
  const { entries } = lexicon();
  const phrase = entries.get(`${first} ${second}`);
  if (phrase?.kind === 'action' || phrase?.kind === 'deed') return true;
  if (/(?:[^s]s|ing|ed)$/.test(first)) return false;
  const entry = entries.get(first) ?? misspelledEntry(first);
  if (entry?.kind === 'action') return true;
  return (entry?.kind === 'deed' || entry?.kind === 'task') && DEED_LIKE.test(clause) && !FINITE.test(clause);
}
