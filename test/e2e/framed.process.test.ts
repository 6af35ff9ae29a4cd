import { expect, test } from 'bun:test';
import { temporaryHome } from '../support/home.ts';
import { contextOf, inParallel, runHookProcess } from '../support/hook-process.ts';
import { type HostileText, hostileTexts, imitationsIn } from '../support/hostile-texts.ts';
import { agentStart, bashFailure, bashSuccess, payload, prompt } from '../support/payloads.ts';

const COUNT = Number(process.env.HOSTILE_TEXTS ?? 40);
const FRAME = /<record note="[^"<>\n]+">\n([\s\S]*?)\n<\/record>/g;

/** What is told of a project in which the text was the output of a failing call, a prompt, and a file's name. */
async function toldOf({ text, id }: HostileText, home: string): Promise<string[]> {
  const cwd = `/home/dev/${id}`;
  const run = async (input: object) => contextOf(await runHookProcess({ ...input, cwd }, { home }));
  const told: (string | undefined)[] = [];
  const call = (session_id: string, command: string) => ({ session_id, tool_input: { command } });
  for (const session_id of [`${id}-1`, `${id}-2`]) {
    await run(prompt(text, { session_id }));
    const failure = `Exit code 1\nerror: unknown option '--${id}': ${text}`;
    const wrong = call(session_id, `npm test -- --${id}`);
    told.push(await run(bashFailure(failure, { ...wrong, tool_use_id: `${session_id}-a` })));
    await run(bashSuccess('npm test', { ...call(session_id, 'npm test'), tool_use_id: `${session_id}-b` }));
    const open = call(session_id, `make ${id}`);
    await run(bashFailure(`Exit code 2\nfatal: ${text}`, { ...open, tool_use_id: `${session_id}-c` }));
    const file_path = `${cwd}/${text.replaceAll('/', '-')}.ts`;
    const edit = { session_id, tool_use_id: `${session_id}-d`, tool_input: { file_path } };
    await run(payload('post-tool-use-edit', edit));
    await run(payload('session-end', { session_id }));
    told.push(await run(payload('session-start-resume', { session_id })));
    told.push(await run(agentStart('executor', { session_id })));
  }
  return told.filter((one) => one !== undefined);
}

test('no text of others leaves the frame in which hooks tell it, or imitates another', async () => {
  using home = temporaryHome();
  const texts = hostileTexts(COUNT);
  const told = await inParallel(texts, 4, (text) => toldOf(text, home.path));
  const reached = { contexts: 0, texts: 0 };
  for (const [index, { id, text }] of texts.entries()) {
    const contexts = told[index] ?? [];
    for (const context of contexts) {
      const outside = context.replace(FRAME, '');
      expect({ text, outside: outside.includes(id) ? outside : '' }).toEqual({ text, outside: '' });
      const inside = [...context.matchAll(FRAME)].map(([, lines = '']) => lines).join('\n');
      expect({ text, context, found: imitationsIn(inside) }).toEqual({ text, context, found: [] });
      if (inside.includes(id)) reached.contexts++;
    }
    if (contexts.some((context) => context.includes(id))) reached.texts++;
  }
  // What proves nothing is that nothing was told.
  expect(reached.texts).toBeGreaterThan(COUNT * 0.8);
  if (process.env.HOSTILE_TEXTS) {
    console.info(reached);
    for (const context of told.flatMap((contexts, index) => (index % 9 === 0 ? contexts.slice(1, 4) : [])))
      console.info(`---\n${context}`);
  }
}, 240_000);
