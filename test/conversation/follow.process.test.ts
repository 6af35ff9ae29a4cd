import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import type { AgentEvent } from '../../src/clients/client.ts';
import { followTurn } from '../../src/conversation/follow.ts';
import { runsHome } from '../runs/runs-home.ts';

setDefaultTimeout(60_000);

const texts = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.kind === 'text' ? [event.text] : []));

describe('followTurn()', () => {
  test('tells what is said while it is said, and all of it, once', async () => {
    await using here = runsHome();
    const go = `${here.home.path}/go`;
    const { runId } = here.spawn({ task: `[[messages 3]] [[until ${go}]] [[split 한글]] [[messages 2]]` });
    const events: AgentEvent[] = [];
    const states: string[] = [];
    const following = followTurn(
      { runId, turn: 1 },
      { onEvent: (event) => events.push(event), onProgress: ({ turn }) => states.push(turn.state) },
      here.world,
    );
    const isTold = () => texts(events).includes('waiting') && states.includes('running');
    await here.until('it is told before the end', isTold);
    writeFileSync(go, '');
    const found = await following;
    expect(found?.turn.state).toBe('success');
    expect(texts(events)).toEqual([
      ...['message 0', 'message 1', 'message 2', 'waiting', '한글\u2028가나다\u2029\u0085😀'],
      ...['message 0', 'message 1', '한글\u2028가나다\u2029\u0085😀'],
    ]);
  });

  test('goes on with a client that is started once more, as its model was refused', async () => {
    await using here = runsHome();
    const { runId } = here.spawn({
      task: '[[only-default]] [[messages 2]] [[answer after all]]',
      model: 'nosuch',
    });
    const events: AgentEvent[] = [];
    const found = await followTurn(
      { runId, turn: 1 },
      { onEvent: (event) => events.push(event) },
      here.world,
    );
    expect(found?.turn).toMatchObject({ state: 'success', result: 'after all' });
    expect(texts(events)).toEqual(['message 0', 'message 1', 'after all']);
  });

  test('has the last line, which nothing has ended, and nothing of a turn that never began', async () => {
    await using here = runsHome();
    const { runId } = here.spawn({ task: '[[messages 1]] [[die SIGKILL]]' });
    const events: AgentEvent[] = [];
    const onEvent = (event: AgentEvent) => events.push(event);
    expect((await followTurn({ runId, turn: 1 }, { onEvent }, here.world))?.turn.state).toBe('error');
    expect(texts(events)).toEqual(['message 0']);
    expect(await followTurn({ runId, turn: 7 }, { onEvent }, here.world)).toBeUndefined();
  });

  test('ends when its signal says so, and the turn goes on', async () => {
    await using here = runsHome();
    const go = `${here.home.path}/go`;
    const { runId } = here.spawn({ task: `[[until ${go}]]` });
    const leave = new AbortController();
    const events: AgentEvent[] = [];
    const onEvent = (event: AgentEvent) => {
      events.push(event);
      leave.abort();
    };
    const found = await followTurn({ runId, turn: 1 }, { onEvent, signal: leave.signal }, here.world);
    expect(found?.turn.state).not.toBe('success');
    writeFileSync(go, '');
    expect((await here.ended(runId))[0]?.state).toBe('success');
  });
});
