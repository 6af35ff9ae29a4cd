import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { PREDECESSOR, writeOldDatabase } from '../database/conformance/old-databases.ts';
import { hookFailures, readRows } from '../support/home.ts';
import { contextOf, runHookProcess } from '../support/hook-process.ts';
import { SECRETS } from '../support/made-up.ts';
import { agentStart, type Payload, PROJECT, payload } from '../support/payloads.ts';
import { homePerTest } from '../support/per-test.ts';
import { isoBeforeNow } from '../support/seed.ts';

/** The hooks that only read meet a database before anything has migrated it: what it stores was never redacted. */

const home = homePerTest();

/** `age`: seconds before now. */
function insertEvent(type: string, age: number, data: Payload): string {
  const text = JSON.stringify(data).replaceAll("'", "''");
  return `INSERT INTO events(type, ts, session_id, project, project_path, data)
    VALUES ('${type}', '${isoBeforeNow(age)}', 'old', 'app', '${PROJECT}', '${text}');`;
}

function insertFix(error: string, resolution: string): string {
  const [key, value] = [error, resolution].map((text) => text.replaceAll("'", "''"));
  return `INSERT INTO error_kb(ts, error_normalized, resolution, use_count)
    VALUES ('${isoBeforeNow(60)}', '${key}', '${value}', 1);`;
}

const leave = (...statements: string[]) =>
  writeOldDatabase(home.paths, [PREDECESSOR, ...statements].join(' '));

/** The hook's answer; nothing may have been changed or noted by it. */
async function answer(input: Payload): Promise<string> {
  const before = readFileSync(home.paths.database);
  const context = contextOf(await runHookProcess(input, { home: home.path }));
  expect(hookFailures(home.paths)).toEqual([]);
  expect(readFileSync(home.paths.database).equals(before)).toBe(true);
  expect(readRows(home.paths, 'PRAGMA user_version')).toEqual([{ user_version: 0 }]);
  expect(existsSync(home.paths.backups)).toBe(false);
  return context ?? '';
}

describe("a predecessor's database that nothing has migrated yet", () => {
  for (const [index, { text, secret }] of SECRETS.entries()) {
    test(`costs no secret: number ${index} in an error, its fix and its session`, async () => {
      const error = `Error: ${text} was refused`;
      const counts = { promptCount: 1, toolCounts: { Bash: 1 }, errorCount: 1 };
      const words = { lastPrompts: [`use ${text} here`], lastEditedFiles: ['a.ts'], uniqueErrors: [error] };
      leave(
        insertEvent('tool_error', 50, { tool: 'Bash', error, errorRaw: error }),
        insertFix(error, `sent ${text} again`),
        insertEvent('session_summary', 40, { ...counts, ...words }),
      );
      const told = await answer(agentStart('executor'));
      expect(told).toContain('was refused (Bash)');
      expect(told).toMatch(/- Error: .*\[REDACTED\].* was refused/);
      expect(told).toMatch(/해결: .*\[REDACTED\].* again/);
      expect(told).not.toContain(secret);

      const greeting = await answer(payload('session-start-resume'));
      expect(greeting).toMatch(/미해결 에러 1건: Error: .*\[REDACTED\].* was refused/);
      expect(greeting).toMatch(/\[RESUME\].*\[REDACTED\].* was refused/);
      expect(greeting).toMatch(/마지막 작업: "use .*\[REDACTED\].* here"/);
      expect(greeting).not.toContain(secret);
    });
  }

  test('is told as it is when there is no secret in it', async () => {
    leave(insertEvent('tool_error', 9, { tool: 'Bash', error: 'Error: old trouble' }));
    expect(await answer(agentStart('executor'))).toContain(
      '- Error: old trouble (Bash)\n  해결: "{\\"resolvedBy\\":\\"success_after_error\\"',
    );
  });
});
