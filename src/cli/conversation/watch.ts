import type { AgentEvent } from '../../clients/client.ts';
import { eventSummary, eventsJson } from '../../conversation/event-lines.ts';
import { followTurn } from '../../conversation/follow.ts';
import { readQueue } from '../../conversation/queue.ts';
import { lookOr } from '../../core/guards.ts';
import type { Asked, OrchestrationState } from '../../orchestrate/model/state.ts';
import { type Standing, standingOf } from '../../orchestrate/standing.ts';
import { isTerminal } from '../../runs/model/turn.ts';
import { logRunFailure } from '../../runs/world.ts';
import type { RunsHere } from '../subagents/runs-here.ts';
import { shownJson } from '../terminal/json.ts';
import { frameLines, newsLines } from './view.ts';

/** Shows an orchestration while it goes on: drawn over itself on a terminal, else a line for each thing that happens. */
export type Watch = {
  /** The orchestration stands so by now. */
  readonly onState: (state: OrchestrationState) => void;
  /** Says something else meanwhile, on standard error, or above what is drawn. */
  readonly say: (line: string) => void;
  /** Shows it a last time, and nothing from then on, however often it is called. */
  readonly stop: () => void;
};

const DRAW_MS = 1000;
/** Below the frame, for the cursor. */
const ROWS_BESIDE = 2;
const ROWS_DEFAULT = 24;
const COLUMNS_DEFAULT = 80;

/** Where it is shown. */
type Show = {
  readonly say: (line: string) => void;
  readonly onStanding: (before: Standing | undefined, after: Standing) => void;
  /** What tells the events of one turn of this part. */
  readonly onTurn: (key: string) => (event: AgentEvent) => void;
  readonly stop: () => void;
};

/** Begins to watch, on a terminal, in a pipe or as lines of JSON. */
export function watchOrchestration(here: RunsHere): Watch {
  const { context, world, isJson } = here;
  const canDraw = context.screen() !== undefined && context.env.TERM !== 'dumb';
  const show = isJson ? jsonShow(here) : canDraw ? frameShow(here) : lineShow(here);
  const leave = new AbortController();
  const followed = new Set<string>();
  let newest: Standing | undefined;
  const follow = (asked: Asked) => {
    if (asked.kind !== 'turn') return;
    const name = { runId: asked.run.id, turn: asked.turn.number };
    const key = `${name.runId} ${name.turn}`;
    if (asked.turn.startedAtMs === null || isTerminal(asked.turn.state) || followed.has(key)) return;
    followed.add(key);
    const tell = show.onTurn(asked.key);
    const onEvent = (event: AgentEvent) => leave.signal.aborted || tell(event);
    followTurn(name, { onEvent, signal: leave.signal }, world).catch((error: unknown) =>
      logRunFailure(name.runId, error, world.paths),
    );
  };
  return {
    onState: (state) => {
      if (leave.signal.aborted) return;
      const standing = standingOf(state);
      show.onStanding(newest, standing);
      newest = standing;
      for (const asked of state.asked.values()) asked.forEach(follow);
    },
    say: (line) => (leave.signal.aborted ? context.stderr(`${line}\n`) : show.say(line)),
    stop: () => {
      if (leave.signal.aborted) return;
      leave.abort();
      show.stop();
    },
  };
}

/** The frame stands below what the agents do, and is drawn anew each second. */
function frameShow({ context, requester, world }: RunsHere): Show {
  const { verbatim, colours, screen, now } = context;
  let standing: Standing | undefined;
  let shown: readonly string[] = [];
  const draw = (above = '') => {
    const size = screen();
    // A database that is busy is no reason to end what is being watched.
    const waiting = lookOr(() => readQueue(requester, world)?.waiting.length ?? 0, 0);
    const frame = { columns: size?.columns || COLUMNS_DEFAULT, nowMs: now().getTime(), waiting };
    const rows = Math.max(1, (size?.rows || ROWS_DEFAULT) - ROWS_BESIDE);
    const lines = standing === undefined ? [] : frameLines(standing, frame).slice(0, rows);
    if (above === '' && lines.join('\n') === shown.join('\n')) return;
    const back = shown.length === 0 ? '' : `\x1b[${shown.length}A\x1b[J`;
    verbatim(`${back}${above}${lines.map((line) => `${line}\n`).join('')}`);
    shown = lines;
  };
  const timer = setInterval(draw, DRAW_MS);
  return {
    say: (line) => draw(`${line}\n`),
    onStanding: (_before, after) => {
      standing = after;
      draw();
    },
    onTurn: (key) => inLines(key, (lines) => draw(lines.map((line) => `${colours.dim(line)}\n`).join(''))),
    stop: () => {
      clearInterval(timer);
      draw();
    },
  };
}

function lineShow({ context }: RunsHere): Show {
  const tell = (lines: readonly string[]) => context.stderr(lines.map((line) => `${line}\n`).join(''));
  return {
    say: (line) => tell([line]),
    onStanding: (before, after) => tell(newsLines(before, after)),
    onTurn: (key) => inLines(key, (lines) => tell(lines.map(context.colours.dim))),
    stop: () => {},
  };
}

/** A line for each standing that differs from the one before, and one for each event. */
function jsonShow({ context }: RunsHere): Show {
  let last = '';
  return {
    say: (line) => context.stderr(`${line}\n`),
    onStanding: (_before, after) => {
      const line = shownJson({ type: 'standing', ...after }, 0);
      if (line !== last) context.stdout(line);
      last = line;
    },
    onTurn: (part) => {
      const { push } = eventsJson();
      return (event) => {
        for (const shown of push(event)) context.stdout(shownJson({ part, ...shown }, 0));
      };
    },
    stop: () => {},
  };
}

/** Tells the events of a turn in lines, behind what the part is called: `[backend 3] cmd: bun test → exit 0`. */
function inLines(key: string, tell: (lines: readonly string[]) => void): (event: AgentEvent) => void {
  const [, agent, phase] = /^work\.(.+)\.(\d)$/.exec(key) ?? [];
  const { push } = eventSummary(agent === undefined ? key : `${agent} ${phase}`);
  return (event) => {
    const lines = push(event);
    if (lines.length > 0) tell(lines);
  };
}
