import { expect, test } from 'bun:test';
import { asksForHelp, isCheck, isRead, isSetUp, siblingScript, undoes } from '../../src/lessons/programs.ts';
import { parseShell, type SimpleCommand } from '../../src/lessons/shell.ts';

const command = (line: string) => parseShell(line).at(-1) as SimpleCommand;
const all = (holds: (one: SimpleCommand) => boolean, lines: string[], value: boolean) => {
  for (const line of lines) expect([line, holds(command(line))]).toEqual([line, value]);
};

test('reads, checks and set-up', () => {
  all(
    isRead,
    ['ls', 'git status', 'docker ps', 'npm test', 'rm -r dist', 'curl -s x', 'kubectl get pods'],
    true,
  );
  all(isRead, ['npm ci', 'docker compose up -d', 'mise trust', 'make generate'], false);
  all(isCheck, ['npm test', 'go vet ./...', 'cargo clippy', 'npm run build'], true);
  all(isCheck, ['npm ci', 'docker compose up'], false);
  all(
    isSetUp,
    ['npm ci', 'uv sync', 'npm run db:generate', 'mix deps.get', 'docker compose up -d', 'apt-get update'],
    true,
  );
  all(isSetUp, ['npm test', 'echo x'], false);
  const asks = (line: string) => asksForHelp(command(line), command('npm run build'));
  for (const line of [
    'npm run --help',
    'git help',
    'jest --version',
    'tool -h',
    'npm run build --verbose',
    'DEBUG=x npm run build',
  ])
    expect([line, asks(line)]).toEqual([line, true]);
  for (const line of ['psql -h db shop', 'npm run helper', 'npm run build --quiet'])
    expect([line, asks(line)]).toEqual([line, false]);
});

test('what goes round a check or destroys something', () => {
  all(
    undoes,
    [
      'git push --force',
      'git push -f',
      'git push --force-with-lease',
      'git push origin +main',
      'git commit --no-verify -m x',
      'git reset --hard',
      'git clean -fd',
      'git branch -D x',
      'rm -rf dist',
      'sudo npm ci',
      'npm install --force',
      'pip install --break-system-packages x',
      'docker system prune',
      'docker rm -f web',
      'bin/rails db:drop',
      'npx prisma migrate reset',
      'php artisan migrate:fresh',
      'terraform destroy',
      'kubectl delete pod a',
      'curl -k x',
      'HUSKY=0 git commit -m x',
      'SKIP=lint git commit -m x',
      'NODE_TLS_REJECT_UNAUTHORIZED=0 npm ci',
      'GIT_SSL_NO_VERIFY=1 git fetch',
      'terraform plan -lock=false',
      'pip install --trusted-host x y',
    ],
    true,
  );
  all(
    undoes,
    ['git push -u origin HEAD', 'npm ci', 'pnpm add -D -w vitest', 'docker compose up -d', 'make -k'],
    false,
  );
});

test("a tool's own way to mend what it finds", () => {
  const sibling = (failing: string, other: string) => siblingScript(command(failing), command(other));
  for (const [failing, other] of [
    ['npm run lint', 'npm run lint:fix'],
    ['npm run lint', 'npm run format'],
    ['eslint .', 'eslint . --fix'],
    ['prettier --check .', 'prettier --write .'],
    ['cargo fmt --check', 'cargo fmt'],
    ['black --check .', 'black .'],
    ['terraform fmt -check', 'terraform fmt'],
    ['rubocop', 'rubocop -a'],
  ] as const)
    expect([failing, sibling(failing, other)]).toEqual([failing, true]);
  for (const [failing, other] of [
    ['npm run lint', 'npm run test'],
    ['npm run lint:fix', 'npm run lint'],
    ['eslint .', 'eslint src --fix'],
    ['npm run lint', 'npm run lint'],
    ['docker compose up -d', 'docker compose up'],
  ] as const)
    expect([failing, other, sibling(failing, other)]).toEqual([failing, other, false]);
});
