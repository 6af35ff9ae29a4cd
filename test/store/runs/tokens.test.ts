import { expect, test } from 'bun:test';
import { issueToken, readToken, revokeTokens } from '../../../src/store/runs/tokens.ts';
import { inHome, NOW_MS } from './made-up.ts';

const REQUEST = {
  role: 'subagent',
  runId: 'r1',
  client: 'codex',
  nowMs: NOW_MS,
  expiresAtMs: NOW_MS + 100,
} as const;

test('issueToken() gives another token each time, which readToken() knows again, and keeps only a hash', () =>
  inHome(({ db, open }) => {
    const [token, other] = [
      issueToken(REQUEST, db),
      issueToken({ ...REQUEST, role: 'main', runId: null }, db),
    ];
    expect(token).not.toBe(other);
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(readToken(token, NOW_MS, open())).toEqual({ role: 'subagent', runId: 'r1', client: 'codex' });
    expect(readToken(other, NOW_MS, db)).toEqual({ role: 'main', runId: null, client: 'codex' });
    expect(JSON.stringify(db.all('SELECT * FROM tokens'))).not.toContain(token.slice(0, 20));
  }));

test('readToken() knows no token that was never issued, has expired or was revoked', () =>
  inHome(({ db }) => {
    const token = issueToken(REQUEST, db);
    const lasting = issueToken({ ...REQUEST, runId: 'r2', expiresAtMs: null }, db);
    expect(readToken('', NOW_MS, db)).toBeUndefined();
    expect(readToken(`${token}x`, NOW_MS, db)).toBeUndefined();
    const [hash] = db.all('SELECT hash FROM tokens');
    expect(readToken(String(hash?.hash), NOW_MS, db)).toBeUndefined();
    expect(readToken(token, NOW_MS + 99, db)).toBeDefined();
    expect(readToken(token, NOW_MS + 100, db)).toBeUndefined();
    expect(readToken(lasting, NOW_MS * 2, db)).toBeDefined();
    revokeTokens('r2', db);
    expect(readToken(lasting, NOW_MS, db)).toBeUndefined();
    expect(readToken(token, NOW_MS, db)).toBeDefined();
  }));

test('issueToken() forgets what has expired', () =>
  inHome(({ db }) => {
    issueToken(REQUEST, db);
    issueToken({ ...REQUEST, nowMs: NOW_MS + 100, expiresAtMs: null }, db);
    expect(db.all('SELECT 1 FROM tokens')).toHaveLength(1);
  }));
