import { cleanText } from '../../core/text.ts';

/** What a prompt says about who is to do it. Only what is said to the reader counts: no question, quote, log or subject. */

export type Wish = {
  readonly label: 'team' | 'single';
  /** The words that say so. */
  readonly evidence: string;
};

const LENGTH_MAX = 20_000;

/** The last explicit wish of a prompt; undefined: it has none. */
export function wishIn(prompt: string): Wish | undefined {
  const said = ownWords(cleanText(prompt).slice(0, LENGTH_MAX));
  return sentencesOf(said).flatMap(wishesIn).at(-1);
}

/** Without what was pasted or quoted: code, quotations, logs, and what others said. */
function ownWords(text: string): string {
  return text
    .replace(/```[\s\S]*?(?:```|$)/g, '\n')
    .replace(/\b(?:said|says|wrote|replied):.*$/gim, ' … ')
    .replace(
      /`[^`\n]*`|"[^"\n]*"|“[^”\n]*”|「[^」\n]*」|‘[^’\n]*’|(?<![\p{L}\p{N}])'[^'\n]*'(?!\p{L})/gu,
      ' … ',
    )
    .split('\n')
    .filter(
      (line) =>
        !/^\s*>|^(?:\t| {4})|^\s*(?:[-*•]|\[[^\]]*\]|\d\d?:\d\d\S*)\s+\S{1,20}:\s|^\s*\[[^\]]*\]/.test(line),
    )
    .join('\n');
}

type Sentence = { readonly clauses: readonly string[]; readonly isQuestion: boolean };

const ASKING_FOR = /\b(?:can|could|would|will) you\b|please|줄래|줄\s*수|주실|주시겠|할까요/i;

function sentencesOf(text: string): Sentence[] {
  return (text.match(/(?:[^.!?\n]|[.!?](?=\S))+[.!?]*/g) ?? []).map((sentence) => ({
    clauses: sentence
      .replace(/[.!?\s]+$/, '')
      .split(/[,:;]\s*|\s+[-–—]\s+|\s+but\s+|(?<=말고|마|말아\s?줘)\s+/)
      .map((clause) => clause.trim())
      .filter((clause) => clause !== ''),
    isQuestion: /\?\s*$/.test(sentence) && !ASKING_FOR.test(sentence),
  }));
}

function wishesIn({ clauses, isQuestion }: Sentence): Wish[] {
  if (isQuestion) return [];
  return clauses.flatMap((clause) => {
    const label = /[가-힣]/.test(clause) ? koreanWish(clause) : englishWish(clause);
    return label === undefined ? [] : [{ label, evidence: clause }];
  });
}

const not = (label: Wish['label']): Wish['label'] => (label === 'team' ? 'single' : 'team');
const anyOf = (sources: readonly string[]) => new RegExp(sources.join('|'), 'i');

const SOFTENERS =
  /^(?:(?:please|ok(?:ay)?|so|now|then|and|also|just|simply|instead|hey|this time|here|i(?:'d| would) (?:like|prefer|love)(?: you)?(?: to)?|i want(?: you)?(?: to)?|(?:can|could|would|will) you|you (?:should|can|may|must)|let'?s)[\s]+)*/i;
const NEGATION =
  /^(?:please\s+)?(?:don'?t|do not|never|not|avoid|i (?:do not|don'?t|never) want(?: you)?(?: to)?|there is no need to|no need to)\s+(?:please\s+)?(?:to\s+)?/i;
/** With these a clause speaks of something, and wants nothing. */
const SUBJECT =
  /^(?:we|you|they|he|she|it|i|the|an?|that|these|those|our|my|last|when|if|in|on|at|who|what|how|why|where|should|is|are|was|were|does|did|there|some|users?)\b/i;
const AGENTS =
  '(?:(?:several|multiple|many|more|different|parallel|two|three|four|five|\\d+|all(?: the| your| of the)?) (?:sub-?|coding )?agents|agents in parallel)';
const WORKING = '(?=$| (?:on|to|for|handle|do|work|take|build|deal|in parallel|here)\\b)';
const ON_IT = '(?=$| (?:on|for) (?:this|it|that)\\b| in parallel\\b)';
const DO = '(?:do|handle|make|build|fix|solve|work|write|tackle|implement|finish|run|take)';
const TEAM = '(?:the|your|a|our|my) (?:whole |full |entire )?team(?: of agents)?';
const PIPELINE = '(?:the |an? |your )?(?:full |whole )?(?:pipeline|orchestration)';
const IT = '(?:it|this|that|everything|all(?: of)? (?:it|this)|the (?:work|tasks?|jobs?))';
const NO_SUBJECT = '^(?!.*\\b(?:when|if|that|which|where)\\b)\\w+\\b.*';
const SINGLE_IN_ENGLISH = anyOf([
  `^(?:no|without|skip)(?: need for)?(?: an?| any| the)? (?:team|orchestration|pipeline|${AGENTS}|sub-?agents)\\b`,
  '^(?:only |use |with |let )*(?:just )?(?:one|an? single) agent\\b',
  `^${DO}(?: on)? ${IT} (?:all )?(?:alone\\b|directly$)|^work alone\\b|^alone\\b`,
  '^(?:\\w+ .{0,40})?\\b(?:yourself|(?:by|on) your ?(?:self|own))$',
]);
const TEAM_IN_ENGLISH = anyOf([
  `^as a team$|${NO_SUBJECT} as a team(?: of agents)?$`,
  `^(?:use|have|involve|employ|get|let|with|using|by) ${AGENTS}${WORKING}`,
  `^(?:start|spawn|put) ${AGENTS}${ON_IT}`,
  `${NO_SUBJECT} (?:with|using|by) ${AGENTS}(?: in parallel)?$`,
  `^(?:let|have|get|ask|use) (?:the|your|our) agents\\b.{0,40}\\b(?:parallel|together)\\b`,
  `^(?:(?:let|have|use|ask|involve|(?:give|hand) ${IT} (?:over )?to) )?${TEAM}${WORKING}`,
  `^get ${TEAM}(?= to\\b| on\\b)|^put ${TEAM}${ON_IT}`,
  `^(?:split|divide|distribute|spread|share|delegate|assign|hand|give)(?: ${IT}| up| out| over)* (?:among|between|across|over|to)\\b.{0,30}\\b(?:agents|employees|team)$`,
  `^(?:orchestrate|delegate)(?: ${IT})?$`,
  `^(?:run|use|start|put|take|send)(?: ${IT})?(?: through)? ${PIPELINE}(?:${ON_IT}| with (?:planning|reviews?|a plan)\\b)`,
  '\\b\\w+ and (?:the |a )?\\w+ agents?\\b.{0,30}\\btogether\\b',
]);

function englishWish(clause: string): Wish['label'] | undefined {
  const start = clause.replace(SOFTENERS, '');
  const asked = start.replace(NEGATION, '').replace(SOFTENERS, '');
  const isWanted = /\b(?:like|want|prefer|love)\b/i.test(clause.slice(0, clause.length - asked.length));
  if (SUBJECT.test(asked) && !isWanted) return undefined;
  const forms = isWanted ? [asked, `have ${asked}`] : [asked];
  const [label] = forms.flatMap((form) => found(form, SINGLE_IN_ENGLISH, TEAM_IN_ENGLISH)[0] ?? []);
  return label && NEGATION.test(start) ? not(label) : label;
}

function found(clause: string, single: RegExp, team: RegExp): readonly [label?: Wish['label'], at?: number] {
  const [alone, together] = [clause.search(single), clause.search(team)];
  if (alone >= 0) return ['single', alone];
  return together >= 0 ? ['team', together] : [];
}

const ASKED_FOR = '(?=\\s?(?:줘|주|줄|라|서|야|$))';
const DOING = `(?:(?:진행|처리|작업|사용|활용|투입|분담|준비)?(?:해${ASKED_FOR}|하(?=지|자|세|면))|(?:돌려|맡겨|만들어|고쳐|시켜|써|나눠)${ASKED_FOR}|(?:돌리|맡기|고치|시키|쓰|나누)(?=지|자|세))`;
const MODE = '(?:팀|오케스트레이션|파이프라인)';
const SINGLE_IN_KOREAN = anyOf([
  `(?:${MODE}|에이전트)(?:은|는|이|을|를|도|으로|로)?\\s*(?:여러 개\\s*)?(?:할\\s*)?(?:없이|필요\\s*없|빼고)`,
  '에이전트(?:는|를)?\\s*(?:하나|한\\s*[개명]|1\\s*[개명])(?:면|로|만|로만|만으로)?\\s*.{0,4}(?:충분|돼|해|써|처리)',
  `(?:혼자|단독)(?:서|으로)?\\s*(?:(?:바로|직접|다|전부|알아서)\\s*)*(?:${DOING}|말고)`,
  `(?:직접|바로)\\s*${DOING}`,
  '나누지\\s*(?:말|마)',
]);
const TEAM_IN_KOREAN = anyOf([
  `(?:^|\\s)팀(?:으로|끼리|\\s?전체로)(?:$|\\s*(?:같이\\s*|함께\\s*|나눠서?\\s*)*${DOING})`,
  '(?:^|\\s)팀으로\\s[^는]{1,60}(?:해\\s?줘|하자|해\\s?주세요|합시다|부탁\\S*|만들어\\s?줘|고쳐\\s?줘|바꿔\\s?줘)$',
  `(?:^|\\s)${MODE}(?:을|를|도|은|는)?\\s*(?:써서?|쓰(?=지|자)|사용해|활용해|돌려|돌리(?=지|자)|하(?=지|자))`,
  '오케스트레이션(?:을)?\\s*해\\s?(?:줘|주세요|줄래)',
  `${MODE}(?:으)?로\\s*.{0,6}${DOING}`,
  '팀원(?:들)?(?:끼리|과|이랑|들과)\\s*.{0,12}나눠서?',
  '(?:팀|팀원|에이전트|프런트|프론트|백엔드|직원)(?:들)?(?:한테|에게)\\s*(?:나눠서?\\s*)?(?:맡겨|맡기(?=지|자)|시켜|시키(?=지|자))',
  `에이전트(?:를|들을?)?\\s*(?:여러|두|세|몇|[2-9])\\s*[개명]?(?:를|로|을)?\\s*.{0,8}${DOING}`,
  `(?:여러|두|세)\\s*(?:개의\\s*|명의\\s*)?에이전트(?:로|를|한테|에게|들로)(?:$|\\s*병렬로?$|[^는]{0,12}${DOING})`,
  '(?:여럿이|다\\s?같이|함께)\\s*(?:서\\s*)?(?:나눠|나누|하(?=지|자))',
  `에이전트(?:가|들이|한테)?\\s*(?:같이|함께)\\s*(?:\\S+하게\\s*)?${DOING}`,
]);
/** A clause that wants something ends so; one that tells of something, or quotes, does not. */
const WANTING =
  /(?:줘|줄래|주세요|주실래요|줘요|라|하자|자|합시다|해|하세요|부탁\S*|말고|마|마세요|말아\s?줘|충분\S*|없\S*|없이.*|로|서|거야|수\s*있\S*)$/;
const TOLD = /(?:다고|자고|라고|냐고|줘라는|하자는|하라는)\s|[했됐]|(?:필요하|크|어려우)면/;

function koreanWish(clause: string): Wish['label'] | undefined {
  if (!WANTING.test(clause) || TOLD.test(clause)) return undefined;
  const [label, at] = found(clause, SINGLE_IN_KOREAN, TEAM_IN_KOREAN);
  const behind = clause.slice(at);
  const isNegated = /지\s*(?:말|마|않)|말고$/.test(behind) && !behind.startsWith('나누지');
  return label && isNegated ? not(label) : label;
}
