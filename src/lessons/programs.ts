import { isAssignment, programOf, type SimpleCommand, unquoted } from './shell.ts';

/** What programs are for, as far as lessons need to know. */

const READS = new Set(
  'ls cat head tail less more grep rg ag find fd tree stat file wc sort uniq diff cmp jq yq echo printf pwd which type env date du df ps top lsof whoami id hostname man test [ true sed awk cut tr xxd od strings sleep wait curl wget'.split(
    ' ',
  ),
);
const READING_SUBCOMMANDS =
  /^(?:(?:git|gh|npm|pnpm|yarn|bun|docker|kubectl|cargo|go|pip|brew|mise|terraform) )?(?:status|log|diff|show|branch|remote|blame|describe|ls-files|rev-parse|reflog|stash list|list|ls|view|info|outdated|why|ps|logs|inspect|get|version|env|help|--version|--help|-v|-V|-h)\b/;
/** Checks: that another one passes is not what made this one pass. */
const CHECKS =
  /\b(?:test|tests|lint|check|typecheck|vet|build|tsc|eslint|jest|vitest|pytest|mocha|mypy|ruff|clippy)\b/;

/** Whether the command changes nothing, or is another check, so that it cannot be what helped. */
export function isRead(command: SimpleCommand): boolean {
  const program = programOf(command);
  const words = textOf(command);
  return (
    READS.has(program) ||
    READING_SUBCOMMANDS.test(words) ||
    CHECKS.test(words) ||
    /^git\b|^gh\b|^rm\b|^cd\b|^mv\b|^cp\b|^kill/.test(words)
  );
}

/** Whether the program only shows what is there: that it shows another thing is no correction. */
export function isLook(command: SimpleCommand): boolean {
  return READS.has(programOf(command));
}

const DIAGNOSES =
  /^(?:DEBUG|VERBOSE|TRACE|RUST_BACKTRACE|RUST_LOG|LOG_LEVEL|NODE_DEBUG)=|^--?(?:verbose|debug|trace|stacktrace|vv+)$/;

/** Whether the command only asks how it is called, or says more of what it does. */
export function asksForHelp({ words }: SimpleCommand, failing: SimpleCommand): boolean {
  const isHelp = (word: string) => /^--?(?:help|version|list)$|^help$/.test(word) || DIAGNOSES.test(word);
  const added = words.filter((word) => !failing.words.includes(word));
  return added.some(isHelp) || added.at(-1) === '-h';
}

/** Whether the command looks for faults in the code. */
export function isCheck(command: SimpleCommand): boolean {
  return CHECKS.test(textOf(command));
}

/** Whether the command makes ready what others need. */
export function isSetUp(command: SimpleCommand): boolean {
  return /(?:^|[ :])(?:install|ci|i|add|sync|up|update|deps\.get|pub get|start|trust|enable|init|setup|bootstrap|migrate|generate|codegen|tidy|download|vendor|restore|create|mkdir|login|use|build|compile)\b/.test(
    textOf(command),
  );
}

/** Whether the command goes round a check or destroys something: never to be told. */
export function undoes(command: SimpleCommand): boolean {
  const words = textOf(command);
  return (
    UNSAFE_ASSIGNMENT.test(command.words.join(' ')) ||
    /(?:^| )(?:--force(?:-with-lease|-\S+)?|-Force|--dangerously\S*|--trusted-host|--no-lock|-lock=false|--no-verify|--hard|--no-gpg-sign|--allow-empty|--skip-\S+|--no-check\S*|--break-system-packages|--privileged|-rf|-fr|--delete|--insecure)(?:[= ]|$)/.test(
      words,
    ) ||
    /^(?:sudo |doas |su |rm |dd |mkfs|chmod -?R? ?777|kill|pkill|killall|shutdown|reboot|truncate|terraform (?:destroy|apply)|kubectl delete|helm (?:uninstall|delete)|dropdb|git push .*(?:-f\b| \+\S)|git branch .*-D\b|curl .*-k\b|git (?:reset|clean|checkout --|restore|push -f|rebase --skip|stash drop|commit -n|commit .*-n )|docker (?:system prune|volume rm|rm -f)|DROP )/.test(
      words,
    ) ||
    /[ :.](?:drop|wipe|destroy|reset|fresh|purge|prune)\b/.test(words)
  );
}

/** Assignments in front that switch checks off. */
const UNSAFE_ASSIGNMENT =
  /(?:^| )(?:HUSKY=0|HUSKY_SKIP|SKIP=|LEFTHOOK=0|NODE_TLS_REJECT_UNAUTHORIZED=|GIT_SSL_NO_VERIFY=|PYTHONHTTPSVERIFY=|\w*STRICT\w*=(?:0|false))/;

/** Programs that every developer knows: a plain word behind them is a name and no value of somebody's own. */
const WELL_KNOWN = new Set(
  (
    'npm pnpm yarn bun deno corepack lerna nx turbo rush pip pip3 pipx uv poetry pipenv pdm hatch rye conda mamba ' +
    'cargo rustup rustc rustfmt go gofmt goimports golangci-lint gem bundle rake rails rspec rubocop composer mix rebar3 ' +
    'dotnet nuget mvn mvnw gradle gradlew sbt lein swift xcodebuild pod flutter dart brew apt apt-get dnf yum apk pacman ' +
    'choco winget scoop nix asdf mise nvm fnm volta pyenv rbenv sdk git gh glab hub svn hg jj make gmake cmake ctest ' +
    'ninja meson bazel bazelisk buck2 just task gcc g++ cc c++ clang clang++ clang-format clang-tidy javac kotlinc scalac ' +
    'tsc tsx ts-node swc esbuild webpack vite rollup parcel next nuxt astro remix ng vue expo metro svelte-check jest ' +
    'vitest mocha ava cypress playwright karma pytest tox nox unittest phpunit pest phpstan psalm eslint prettier biome ' +
    'stylelint oxlint tslint standard xo knip ruff black isort flake8 pylint mypy pyright bandit shellcheck shfmt ' +
    'hadolint markdownlint yamllint actionlint swiftlint swiftformat ktlint detekt checkstyle clippy pre-commit lefthook ' +
    'husky lint-staged commitlint changeset semantic-release docker docker-compose podman nerdctl buildah kubectl helm ' +
    'kustomize skaffold minikube kind k3d k9s terraform tofu terragrunt pulumi cdk sam serverless vagrant packer prisma ' +
    'drizzle-kit alembic knex sequelize typeorm flyway liquibase systemctl service journalctl ls cat grep rg sed awk ' +
    'find fd tree head tail sort wc jq yq tar rsync cp mv mkdir touch diff patch which man time timeout xargs ' +
    'protoc buf grpcurl tmux storybook turbo wrangler celery gunicorn uvicorn flask django-admin alembic'
  ).split(' '),
);
/** Programs that run another one, and the words with which package managers do. */
const RUNNERS =
  /^(?:(?:npx|bunx|uvx|env|time|timeout|nice|xargs)|(?:uv|poetry|pipenv|pdm|rye|hatch|mise) (?:run|exec|x)|(?:bundle|pnpm|npm|yarn|bun) (?:exec|x|dlx)|python3? -m)(?: -\S+| \d+\w?)*(?= |$)/;

/** Returns true if every developer knows the program, or the one that it runs (`npx eslint`): its words may be told. */
export function isWellKnown(command: SimpleCommand): boolean {
  const program = programOf(command);
  const text = textOf(command).replace(/^\S+/, program);
  const rest = text.replace(RUNNERS, '').trim();
  const inner = rest === '' ? program : (rest.split(' ', 1)[0] ?? '');
  return WELL_KNOWN.has(programOf({ words: [inner] }));
}

/** Options by which a tool only looks, and those by which it mends. */
const LOOKS = /^--?(?:check|check-only|dry-run|list-different|diff)$/;
const MENDS = /^--?(?:fix|write|apply|autocorrect|autocorrect-all|in-place|w|a|A)$/;

/** `lint:fix` beside `lint`, `fmt` beside `lint`, `eslint --fix` beside `eslint`, `fmt` beside `fmt --check`. */
export function siblingScript(failing: SimpleCommand, other: SimpleCommand): boolean {
  const [words, others] = [plainWords(failing), plainWords(other)];
  if (words.join(' ') === others.join(' ') || others.length === 0) return false;
  const script = words.at(-1) ?? '';
  const isRepair = (word: string) => /(?:^|[:_-])(?:fix|fmt|format|write|autocorrect)(?:$|[:_-])/.test(word);
  if (script === '' || isRepair(script)) return false;
  const last = others.at(-1) ?? '';
  const isSameRunner = words.length > 1 && words.slice(0, -1).join(' ') === others.slice(0, -1).join(' ');
  if (isSameRunner && isRepair(last)) return last.startsWith(script) || /^(?:fmt|format|fix)$/.test(last);
  const looks = words.filter((word) => !LOOKS.test(word));
  const mends = others.filter((word) => !MENDS.test(word));
  const isChanged =
    looks.length < words.length ? words.length - looks.length === 1 : others.length === mends.length + 1;
  return isChanged && others.length - mends.length <= 1 && looks.join(' ') === mends.join(' ');
}

function plainWords({ words }: SimpleCommand): string[] {
  return words.filter((word) => !isAssignment(word)).map(unquoted);
}

function textOf({ words }: SimpleCommand): string {
  return words
    .filter((word) => !isAssignment(word))
    .map(unquoted)
    .join(' ');
}
