import { expandNames, isToolAllowed, type ToolName, type ToolPolicy } from '../../core/runs/tool-policy.ts';

/** Our own server in the configuration of a child; its tools are `mcp__self-generation__…` in a policy. */
export const MCP_SERVER_NAME = 'self-generation';

/** A client's own tool, by its name there and by that of a policy. */
export type OwnTool = { readonly name: string; readonly policyName: ToolName };

/**
 * Which of the client's tools the policy lets through. A tool goes by both its names: who denies `Grep`, as the
 * client calls it, has not denied all that reads, and must not be left with it.
 */
export function offeredTools(policy: ToolPolicy, tools: readonly OwnTool[]): string[] {
  const isOffered = ({ name, policyName }: OwnTool) => {
    const names = new Set([policyName, name.toLowerCase()]);
    const isDenied = [...names].some((one) => !isToolAllowed({ ...policy, allow: null }, one));
    return !isDenied && [...names].some((one) => isToolAllowed(policy, one));
  };
  return tools.filter(isOffered).map(({ name }) => name);
}

/** The tools of our server that the policy names one by one as denied; `*` may be in them. */
export function deniedServerTools(policy: ToolPolicy): string[] {
  const prefix = `mcp__${MCP_SERVER_NAME}__`;
  return expandNames(policy.deny).filter((name) => name.startsWith(prefix));
}
