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

/**
 * Wordings by which programs say that a call was wrong, or that what it needs was not there: lower-case words of which each
 * such line has one (`|` parts them), and the wording. It is compiled only where such a word occurs, for a hook reads one
 * failure and ends.
 */
export type Wordings = readonly (readonly [near: string, wording: string])[];

/** By which programs of all kinds refuse a call. */
export const CERTAIN_INVOCATION: Wordings = [
  // Options, arguments and subcommands
  [
    'option|flag|arg|command|parameter|switch|primary',
    String.raw`(?:unknown|unrecogni[sz]ed|invalid|illegal|unsupported|unexpected|no such|not a valid|undefined|ambiguous)(?: shorthand| long| global| positional| cli| command[- ]line)? (?:option|flag|argument|arg|subcommand|sub-command|command|parameter|switch|primary|keyword argument)s?\b`,
  ],
  [
    'flag|option|argument|switch|parameter',
    String.raw`\b(?:flag|option|argument|switch|parameter)s? (?:provided but not|is not|are not|was not|not|does not|doesn't) (?:defined|recogni[sz]ed|found|allowed|supported|exist|known|expected)`,
  ],
  [
    'flag|option|argument|parameter|switch',
    String.raw`(?:flag|option|argument|parameter|switch)s?\b.{0,60}\b(?:needs|requires|expects|expected|is missing|missing)(?: an?| exactly| at least)? (?:argument|value|parameter|one\b|\d)`,
  ],
  [
    'flag|option|argument|command',
    String.raw`\b(?:flag|option|argument|command|subcommand) \S{1,40} (?:does not exist|(?:is|was|has been) (?:not defined|replaced|renamed|removed))`,
  ],
  [
    'parameter cannot|missing ',
    'parameter cannot be found|missing (?:required |positional |mandatory )?(?:argument|option|flag|parameter|operand|subcommand)',
  ],
  ['too many |too few ', 'too (?:many|few) (?:arguments|parameters|positional)'],
  [
    'accepts |requires |expect',
    String.raw`\b(?:accepts|requires|expected|expects) (?:at (?:most|least)|exactly|between|only)? ?\d.{0,12} arg`,
  ],
  [
    'arguments|옵션|인수|인자|명령',
    'the following (?:required )?arguments (?:are|were|is)|(?:인식할 수 없는|알 수 없는|부적절한|잘못된) (?:옵션|인수|인자|명령)',
  ],
  // Programs and scripts
  [
    'not found|not recognized|no such|is not a|찾을 수',
    String.raw`command not found|: not found$|not recognized as (?:an internal|the name)|No such command|is not an? \S+ command|명령(?:어를|을) 찾을 수 없`,
  ],
  [
    'missing script|not found|no script|no_script|find a script|not defined|not running|does not|no rule|no such|know how|no ',
    String.raw`missing script|script not found|no script named|NO_SCRIPT|couldn't find a script|Command "[^"]+" not found|(?:task|target|recipe|goal|profile|service|workspace|project) ["'\x60]?[\w:./-]+["'\x60]? (?:not found|does not exist|is not defined|is not running)|no rule to make target|don't know how to make|no such (?:task|target|service|remote|recipe)|does not contain (?:a )?(?:recipe|scheme|target|task)|no \S+ ?(?:task|target|recipe)s? (?:named|matching)`,
  ],
  // Shells
  [
    'no matches|not found|bad substitution|unexpected eof|syntax error|unmatched',
    String.raw`no matches found:|: event not found|bad substitution|unexpected EOF while|syntax error near|unmatched ["'\x60({]`,
  ],
];

/** By which they mostly do. */
export const LIKELY_INVOCATION: Wordings = [
  // Expressions and values
  [
    'jq:|yq:|awk:|sed:|perl:|parse|syntax|unterminated|unbalanced|invalid|unknown|did you mean',
    String.raw`(?:jq|yq|awk|sed|perl): (?:error|.*expression|\d|-e )|failed to parse jq|parse error|syntax error|unterminated|unbalanced|regex parse error|invalid (?:regular expression|regex|pattern|expression|syntax|format|value|choice|date|number|URL|ref|refspec|path|query)|Unknown JSON field|unknown (?:file extension|encoder|decoder|target|format|filter|reporter|type|project|package|service|environment|profile)|Did you mean`,
  ],
  // Go
  [
    'constraints|no go files|cannot write|module|not in |go.mod|malformed|requires cgo',
    String.raw`build constraints exclude|no Go files in|cannot write multiple packages|outside (?:main|the main) module|not in (?:std|GOROOT)|updates to go\.mod needed|go\.mod file not found|main module .* does not contain|malformed import path|cannot find (?:main )?module|requires cgo`,
  ],
  // Git
  [
    'ignored by|did not match|ambiguous|revision|not a |unrelated|refspec|upstream|no configured|invalid|unknown|index.lock|already|working tree|overwritten|fast-forward|divergent|detached',
    String.raw`ignored by one of your \.gitignore|did not match any file|ambiguous argument|unknown revision|bad revision|not a git repository|unrelated histories|src refspec|no upstream branch|has no upstream|No configured push|not a valid (?:ref|object|branch|identifier)|invalid reference|unknown switch|index\.lock|already (?:exists|checked out|used by worktree)|working tree contains|would be overwritten by|not possible to fast-forward|divergent branches|detached HEAD`,
  ],
  // Versions and lock files
  [
    'trusted|unsupported|incompatible|require|toolchain|eresolve|peer dep|externally|ebadengine|lock|legacy|frozen',
    String.raw`not trusted|untrusted|Unsupported engine|engine "?\w+"? is incompatible|requires? (?:a )?(?:newer |different )?(?:node|python|go|java|ruby|rust|bun|deno)(?:\.js)?\b.{0,30}(?:version|\d)|toolchain|ERESOLVE|peer dep|externally-managed|EBADENGINE|lock ?file\b.{0,60}\b(?:not|out|needs?|frozen|changed|compatible)|\S+[.-]lock\b.{0,60}\b(?:not|out of|in sync)|--legacy-peer-deps|frozen|requires the features?`,
  ],
  // Servers and databases
  [
    "http 4|404|422|graphql|resolve|validation failed|no such|not exist|n't exist|not found|unknown|cannot query|ora-|have a resource",
    String.raw`HTTP (?:400|404|405|406|409|410|415|422)|\b(?:404|422)\b.{0,20}(?:not found|unprocessable)|GraphQL: |Could not resolve to a|Validation Failed|no such (?:table|column|container|image|volume|network|host|service|object|index|database)|(?:column|relation|table|schema|function|role|database|field|index|context|namespace|cluster|profile|environment|stack|workspace) ["'\x60]?[\w.-]+["'\x60]? (?:does not exist|doesn't exist|not found)|Unknown (?:column|table|database|field)|Cannot query field|ORA-\d+|have a resource type`,
  ],
  [
    'port |already|still|server running|connect|daemon|enotfound|getaddrinfo|could not resolve|memory|enomem|emfile|no space',
    String.raw`port \S+ (?:is )?(?:already )?(?:in use|allocated|occupied)|(?:already|still) (?:in use|allocated)|is the server running|(?:cannot|could not|can't|unable to|failed to) connect|daemon (?:is not )?running|ENOTFOUND|getaddrinfo|could not resolve|out of memory|ENOMEM|EMFILE|no space left`,
  ],
  // What is not there, and what is not allowed
  [
    'must be set|is not set|no value|missing ',
    'must be set|is not set|no value for required|Missing (?:environment|env|required env)',
  ],
  [
    "install|run |please run|running|librar|no |could not|couldn't|cannot|can't|unable to|failed to|permitted|denied|허가|권한|read-only|directory|eacces|eperm|locked|get lock|another ",
    String.raw`is not installed|please (?:install|run)|not installed|try running|\brun ['"\x60][^'"\x60]+['"\x60]|shared librar|(?:no|could not|couldn't|cannot|can't|unable to|failed to) (?:read|find|locate|load) (?:an? |the )?(?:(?:selected |any )?(?:project|package|formula|workspace|cache|dockerfile)\b|["'\x60]?[\w./-]*(?:package\.json|pyproject|Cargo\.toml|Makefile|\.env|config))|no (?:available )?(?:package\.json|Makefile|makefile|pyproject|workspaces|(?:bin )?target|formula|such file or directory.{0,40}package\.json)\b|\bno (?:.{1,60} )?(?:file|files|project|POM|repository definition)\b.{0,24}(?:found|in this directory|for)|can't open (?:file|input)|cannot (?:execute|be loaded|re-use)|Permission denied|허가 거부|권한이 없|Operation not permitted|Read-only file system|Is a directory|Not a directory|is not a directory|EACCES|EPERM|No targets specified|database is locked|could not get lock|another .{0,40} (?:process|instance)|already running|(?:rerun|run again|re-run|running this command again) with`,
  ],
];
