import { expect, test } from 'bun:test';
import { asksForHelp, isCheck, isRead, isSetUp, siblingScript, undoes } from '../../src/lessons/programs.ts';
import { parseShell, type SimpleCommand } from '../../src/lessons/shell.ts';

const command = (line: string) => parseShell(line).at(-1) as SimpleCommand;

/** Commands, with ` · ` between, of which it holds, and of which it does not. */
const rows: [what: string, holds: (one: SimpleCommand) => boolean, of: string, notOf: string][] = [
  [
    'reads',
    isRead,
    'ls · git status · docker ps · npm test · rm -r dist · curl -s x · kubectl get pods',
    'npm ci · docker compose up -d · mise trust · make generate',
  ],
  ['checks', isCheck, 'npm test · go vet ./... · cargo clippy · npm run build', 'npm ci · docker compose up'],
  [
    'sets up',
    isSetUp,
    'npm ci · uv sync · npm run db:generate · mix deps.get · docker compose up -d · apt-get update',
    'npm test · echo x',
  ],
  [
    'asks for help',
    (one) => asksForHelp(one, command('npm run build')),
    'npm run --help · git help · jest --version · tool -h · npm run build --verbose · DEBUG=x npm run build',
    'psql -h db shop · npm run helper · npm run build --quiet',
  ],
  [
    'goes round a check or destroys something',
    undoes,
    `git push --force · git push -f · git push --force-with-lease · git push origin +main ·
      git commit --no-verify -m x · git reset --hard · git clean -fd · git branch -D x · rm -rf dist · sudo npm ci ·
      npm install --force · pip install --break-system-packages x · docker system prune · docker rm -f web ·
      bin/rails db:drop · npx prisma migrate reset · php artisan migrate:fresh · terraform destroy ·
      kubectl delete pod a · curl -k x · HUSKY=0 git commit -m x · SKIP=lint git commit -m x ·
      NODE_TLS_REJECT_UNAUTHORIZED=0 npm ci · GIT_SSL_NO_VERIFY=1 git fetch · terraform plan -lock=false ·
      pip install --trusted-host x y`,
    'git push -u origin HEAD · npm ci · pnpm add -D -w vitest · docker compose up -d · make -k',
  ],
];
for (const [what, holds, of, notOf] of rows) {
  const found = (lines: string) => lines.split(/\s+·\s+/).filter((line) => holds(command(line)));
  test(`a command that ${what}, and others`, () => {
    expect(found(of)).toEqual(of.split(/\s+·\s+/));
    expect(found(notOf)).toEqual([]);
  });
}

test("a tool's own way to mend what it finds", () => {
  const pairs: [failing: string, other: string, isSibling: boolean][] = [
    ['npm run lint', 'npm run lint:fix', true],
    ['npm run lint', 'npm run format', true],
    ['eslint .', 'eslint . --fix', true],
    ['prettier --check .', 'prettier --write .', true],
    ['cargo fmt --check', 'cargo fmt', true],
    ['black --check .', 'black .', true],
    ['terraform fmt -check', 'terraform fmt', true],
    ['rubocop', 'rubocop -a', true],
    ['npm run lint', 'npm run test', false],
    ['npm run lint:fix', 'npm run lint', false],
    ['eslint .', 'eslint src --fix', false],
    ['npm run lint', 'npm run lint', false],
    ['docker compose up -d', 'docker compose up', false],
  ];
  for (const [failing, other, isSibling] of pairs)
    expect([failing, other, siblingScript(command(failing), command(other))]).toEqual([
      failing,
      other,
      isSibling,
    ]);
});
