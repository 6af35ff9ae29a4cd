import { expect, test } from 'bun:test';
import type { PoolPlace } from '../../../src/runs/model/pool-role.ts';
import { poolRunId, readSpec, specOf } from '../../../src/runs/pool/spec.ts';
import { madeRun } from '../../support/made-run.ts';

const place: PoolPlace = {
  ...{ kind: 'away', pool: 'build', remote: 'https://host.example/a', branch: 'main' },
  ...{ commit: 'a'.repeat(40), inside: 'packages/one' },
};
const permissions = { mode: 'edit', allow: ['exec(npm test:*)'], deny: [] } as const;
const asked = { prompt: 'do it', session: 'new', permissions, budgetUsd: 1.5 } as const;
const spec = specOf({ ...madeRun(), pool: place }, asked);

test('specOf() is what readSpec() reads, and tells nothing of this machine', () => {
  const read = readSpec(JSON.parse(JSON.stringify(spec)));
  expect(read).toEqual({ kind: 'spec', spec });
  expect(Object.keys(spec).sort()).toEqual(
    [
      ...['branch', 'budgetUsd', 'client', 'commit', 'format', 'inside', 'model', 'permissions', 'policy'],
      ...['prompt', 'remote', 'session', 'thinking', 'timeoutMs'],
    ].sort(),
  );
});

for (const [what, changed] of [
  ['another format', { format: 2 }],
  ['no prompt', { prompt: '' }],
  ['a client that there is not', { client: 'vim' }],
  ['a commit that is a name', { commit: 'main' }],
  ['a branch that is an option', { branch: '--upload-pack=x' }],
  ['a branch with a second name', { branch: 'a:refs/heads/b' }],
  ['more than it knows', { shell: 'x' }],
  ['a mode that there is not', { permissions: { ...permissions, mode: 'root' } }],
] as const)
  test(`readSpec() refuses ${what}`, () => {
    expect(readSpec({ ...spec, ...changed }).kind).toBe('wrong');
  });

test('poolRunId() is the same for the same turn, and another for another turn or model', () => {
  const turn = { runId: '1'.repeat(32), number: 1 };
  const id = poolRunId(turn, { model: null });
  expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(poolRunId(turn, { model: null })).toBe(id);
  expect(poolRunId({ ...turn, number: 2 }, { model: null })).not.toBe(id);
  expect(poolRunId(turn, { model: 'opus' })).not.toBe(id);
});
