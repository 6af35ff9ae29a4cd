import type { AgentEvent } from '../../clients/client.ts';
import { clientNamed } from '../../clients/clients.ts';
import { isRefused } from '../../clients/refusals.ts';
import { type Json, readTexts } from '../../core/guards.ts';
import { redactSecrets } from '../../core/redact.ts';
import { cutText, oneLine } from '../../core/text.ts';
import {
  commandStart,
  grantProblem,
  looksOnly,
  mayUse,
  parseRule,
  parseRules,
  ruleText,
} from '../model/permissions.ts';
import type { Run } from '../model/run.ts';
import { isToolAllowed, type ToolName } from '../model/tool-policy.ts';
import { addCall, type OpenCalls } from './tool-failures.ts';

/** What a run was not let do, for who asked for it: nobody can be asked, so a setting would have to allow it. */

const REFUSED_MAX = 50;
const NAMED_MAX = 3;
const SHOWN_LENGTH_MAX = 60;
/** Parts of `read`, which is what can be granted. */
const READING = ['glob', 'grep', 'list', 'view_image'];
/** A program and its subcommand. */
const COMMAND_START = /^[\w./-]+(?: [a-z][\w:-]*)?(?= |$)/;
/** What makes one of several commands, or of something else than its words. */
const COMPOUND = /[;&|<>`$(){}\n]/;

/** What was wanted. `rule`: would have allowed it, or forbids it; `never`: the client lets no run do it. */
type Refused = { words: string; rule: string; kind: 'missing' | 'forbidden' | 'never' };

/** Looks at the events of a client; `notes`: one line, or none when nothing was refused that a permission would have let through. */
export function refusedCalls(run: Run) {
  const { client, policy, permissions } = run;
  // A session of a conversation is told so once, when it begins.
  const isTold = run.part?.kind === 'conversation';
  const open: OpenCalls = new Map();
  const refused = new Map<string, Refused>();
  const refuse = (id: string) => {
    const call = open.get(id);
    if (call === undefined || refused.size >= REFUSED_MAX) return;
    for (const { tool, input } of clientNamed(client).hookCalls(call)) {
      const known = parseRule(tool)?.tool ?? tool;
      if (!isToolAllowed(policy, known)) continue;
      const forbids = forbidding(known, input, run);
      const { words, rule } = wanted(known, tool, input);
      const kind = forbids !== undefined ? 'forbidden' : isMissing(rule, run) ? 'missing' : 'never';
      refused.set(id, { words, rule: forbids ?? rule, kind });
    }
  };
  return {
    observe(event: AgentEvent): void {
      if (event.kind === 'tool-call') {
        addCall(event, open);
      } else if (event.kind === 'refused') {
        if (event.id !== null) refuse(event.id);
      } else if (event.kind === 'tool-result') {
        if (event.isError && isRefused(event.text)) refuse(event.id);
        open.delete(event.id);
      }
    },
    notes(permitted: readonly string[]): string[] {
      const isSilent =
        clientNamed(client).hidesRefusals === true && looksOnly(policy, permissions) && !isTold;
      const unsaid: Refused[] = isSilent ? [{ words: 'changing files', rule: 'edit', kind: 'missing' }] : [];
      const all = refused.size > 0 ? [...refused.values()] : unsaid;
      return all.length > 0 ? [note(all, permitted, run)] : [];
    },
  };
}

function wanted(known: string, tool: string, input: Json): Omit<Refused, 'kind'> {
  const said = readTexts([input.command, input.file_path, input.url, input.query])[0];
  const what = redactSecrets(String(said ?? '')).trim();
  const words = cutText(oneLine(what), SHOWN_LENGTH_MAX);
  const shown = words === '' ? tool : `${tool} ${words}`;
  const rule = READING.includes(known) ? 'read' : known;
  if (rule !== 'exec') return { words: shown, rule };
  const start = COMPOUND.test(what) ? undefined : COMMAND_START.exec(what)?.[0];
  return { words: shown, rule: ruleText({ tool: rule, calls: start === undefined ? null : `${start}:*` }) };
}

/** Whether the rule is one that can be granted, and has not been. */
function isMissing(text: string, { client, permissions }: Run): boolean {
  const tool = parseRule(text)?.tool;
  if (grantProblem(text) !== undefined || (tool === 'read' && !clientNamed(client).asksToRead)) return false;
  const isGranted = parseRules(permissions.allow).some((rule) => ruleText(rule) === text);
  return !isGranted && !mayUse(tool as ToolName, { ...permissions, deny: [] });
}

/** The rule because of which no grant would help, as far as that can be told from the outside. */
function forbidding(tool: string, input: Json, { permissions }: Run): string | undefined {
  const command = typeof input.command === 'string' ? input.command.trim() : '';
  return permissions.deny.find((text) => {
    const rule = parseRule(text);
    if (rule === undefined || (rule.tool !== tool && rule.tool !== '*')) return false;
    if (rule.calls === null || tool !== 'exec') return true;
    return command.startsWith(commandStart(rule.calls) ?? rule.calls);
  });
}

function note(refused: readonly Refused[], permitted: readonly string[], run: Run): string {
  const { permissions } = run;
  const of = (kind: Refused['kind'], part: 'words' | 'rule') => [
    ...new Set(refused.flatMap((one) => (one.kind === kind ? [one[part]] : []))),
  ];
  const words = [...new Set(refused.map((one) => one.words))];
  const [missing, forbidding, never] = [of('missing', 'rule'), of('forbidden', 'rule'), of('never', 'words')];
  return [
    `Not permitted in ${permissions.mode} mode: ${some(words)}.`,
    ...(missing.length === 0 ? [] : [advice(missing, permitted, run)]),
    ...(forbidding.length === 0 ? [] : [`The user's own settings forbid or ask about: ${some(forbidding)}.`]),
    ...(never.length === 0 ? [] : [`No permission allows here: ${some(never)}.`]),
  ]
    .filter((words) => words !== '')
    .join(' ');
}

function some(words: readonly string[]): string {
  const more = words.length > NAMED_MAX ? ` and ${words.length - NAMED_MAX} more` : '';
  return `${words.slice(0, NAMED_MAX).join(', ')}${more}`;
}

function advice(rules: readonly string[], permitted: readonly string[], { permissions, part }: Run): string {
  const setting = inShell(JSON.stringify([...new Set([...permitted, ...rules])]));
  const grants = inShell(rules.join(','));
  const command = part === null ? 'subagents spawn' : 'run';
  const ways = [
    ...(permissions.mode === 'plan'
      ? []
      : [`sets tools.subagents.allow (self-generation config set tools.subagents.allow ${setting})`]),
    // Of what works in a team nobody starts one alone.
    ...(part?.kind === 'orchestration'
      ? []
      : [`starts it with "self-generation ${command} --permissions ${grants} …"`]),
  ];
  return ways.length === 0 ? '' : `To allow it, ${ways.map((way) => `the user ${way}`).join(', or ')}.`;
}

/** A word as a shell takes it, whatever is in it. */
function inShell(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
