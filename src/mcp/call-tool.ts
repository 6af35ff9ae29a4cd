import { type Answer, failed } from './answer.ts';
import { controlSubagents } from './control.ts';
import {
  HISTORY_PARAMETERS,
  LIST_PARAMETERS,
  NO_PARAMETERS,
  type Parsed,
  parseParameters,
  SEND_PARAMETERS,
  SUBAGENTS_PARAMETERS,
  spawnParameters,
} from './parameters.ts';
import {
  listAgents,
  listSessions,
  sendToSession,
  sessionHistory,
  spawnSession,
  type ToolCall,
} from './run-tool.ts';
import type { Tool } from './tools.ts';

/** Does what a tool is called for. `given`: the parameters as they came in. */
export async function callTool(tool: Tool, given: unknown, call: ToolCall): Promise<Answer> {
  switch (tool) {
    case 'sessions_spawn':
      return using(parseParameters(tool, spawnParameters([]), given), (value) => spawnSession(value, call));
    case 'sessions_list':
      return using(parseParameters(tool, LIST_PARAMETERS, given), (value) => listSessions(value, call));
    case 'sessions_history':
      return using(parseParameters(tool, HISTORY_PARAMETERS, given), (value) => sessionHistory(value, call));
    case 'sessions_send':
      return using(parseParameters(tool, SEND_PARAMETERS, given), (value) => sendToSession(value, call));
    case 'agents_list':
      return using(parseParameters(tool, NO_PARAMETERS, given), () => listAgents(call));
    case 'subagents':
      return using(parseParameters(tool, SUBAGENTS_PARAMETERS, given), (value) =>
        controlSubagents(value, call),
      );
  }
}

function using<T>(
  parsed: Parsed<T>,
  answer: (value: T) => Answer | Promise<Answer>,
): Answer | Promise<Answer> {
  return parsed.kind === 'wrong' ? failed(parsed.error) : answer(parsed.value);
}
