import type { Decision } from '../../src/hooks/decision.ts';
import { decide, parseHookEvent } from '../../src/hooks/hooks.ts';
import type { Home } from './home.ts';
import { type BenchOptions, bench } from './hook-context.ts';
import type { Payload } from './payloads.ts';

/** What the hook of the payload's event decides; nothing is done about it. */
export function decideIn(home: Home, input: Payload, options: BenchOptions = {}): Decision {
  using work = bench(home, options);
  const event = parseHookEvent(input);
  if (event === undefined) throw new Error(`Cannot read the payload: ${JSON.stringify(input)}`);
  return decide(event, work.context);
}

/** Plays payloads one after the other, each recorded; what the hooks say, undefined where they say nothing. */
export function play(home: Home, inputs: readonly Payload[], options: BenchOptions = {}) {
  return inputs.map((input) => {
    using work = bench(home, options);
    const decision = decideIn(home, input, options);
    work.keep(decision);
    return decision.reply?.context;
  });
}
