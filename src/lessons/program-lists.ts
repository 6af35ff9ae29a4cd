/** Programs, subcommands, options and words of commands, by what they mean for lessons. Data alone: programs.ts, fetches.ts and quote.ts apply it. */

/** Programs that only show what is there. */
const READS_WORDS =
  'ls cat head tail less more grep rg ag find fd tree stat file wc sort uniq diff cmp jq yq echo printf pwd which ' +
  'type env date du df ps top lsof whoami id hostname man test [ true sed awk cut tr xxd od strings sleep wait curl wget';
export const READS = new Set(READS_WORDS.split(' '));

/** Subcommands by which package managers, version control and container tools only show what is there. */
export const READING_SUBCOMMANDS =
  /^(?:(?:git|gh|npm|pnpm|yarn|bun|docker|kubectl|cargo|go|pip|brew|mise|terraform) )?(?:status|log|diff|show|branch|remote|blame|describe|ls-files|rev-parse|reflog|stash list|list|ls|view|info|outdated|why|ps|logs|inspect|get|version|env|help|--version|--help|-v|-V|-h)\b/;

/** Checks: that another one passes is not what made this one pass. */
export const CHECKS =
  /\b(?:test|tests|lint|check|typecheck|vet|build|tsc|eslint|jest|vitest|pytest|mocha|mypy|ruff|clippy)\b/;

/** Assignments and options by which a program says more of what it does. */
export const DIAGNOSES =
  /^(?:DEBUG|VERBOSE|TRACE|RUST_BACKTRACE|RUST_LOG|LOG_LEVEL|NODE_DEBUG)=|^--?(?:verbose|debug|trace|stacktrace|vv+)$/;

/** Subcommands and script names that make ready what others need. */
export const SETS_UP =
  /(?:^|[ :])(?:install|ci|i|add|sync|up|update|deps\.get|pub get|start|trust|enable|init|setup|bootstrap|migrate|generate|codegen|tidy|download|vendor|restore|create|mkdir|login|use|build|compile)\b/;

/** Assignments in front that switch checks off. */
export const UNSAFE_ASSIGNMENT =
  /(?:^| )(?:HUSKY=0|HUSKY_SKIP|SKIP=|LEFTHOOK=0|NODE_TLS_REJECT_UNAUTHORIZED=|GIT_SSL_NO_VERIFY=|PYTHONHTTPSVERIFY=|\w*STRICT\w*=(?:0|false))/;

/** Options, programs with subcommands, and script names that get round a check or destroy something. */
export const UNSAFE: readonly RegExp[] = [
  /(?:^| )(?:--force(?:-with-lease|-\S+)?|-Force|--dangerously\S*|--trusted-host|--no-lock|-lock=false|--no-verify|--hard|--no-gpg-sign|--allow-empty|--skip-\S+|--no-check\S*|--break-system-packages|--privileged|-rf|-fr|--delete|--insecure)(?:[= ]|$)/,
  /^(?:sudo |doas |su |rm |dd |mkfs|chmod -?R? ?777|kill|pkill|killall|shutdown|reboot|truncate|terraform (?:destroy|apply)|kubectl delete|helm (?:uninstall|delete)|dropdb|git push .*(?:-f\b| \+\S)|git branch .*-D\b|curl .*-k\b|git (?:reset|clean|checkout --|restore|push -f|rebase --skip|stash drop|commit -n|commit .*-n )|docker (?:system prune|volume rm|rm -f)|DROP )/,
  /[ :.](?:drop|wipe|destroy|reset|fresh|purge|prune)\b/,
];

/** Programs that every developer knows: a plain word behind them is a name and no value of somebody's own. */
const WELL_KNOWN_WORDS =
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
  'protoc buf grpcurl tmux storybook turbo wrangler celery gunicorn uvicorn flask django-admin alembic';
export const WELL_KNOWN = new Set(WELL_KNOWN_WORDS.split(' '));

/** Programs that run another one, and the words with which package managers do. */
export const RUNNERS =
  /^(?:(?:npx|bunx|uvx|env|time|timeout|nice|xargs)|(?:uv|poetry|pipenv|pdm|rye|hatch|mise) (?:run|exec|x)|(?:bundle|pnpm|npm|yarn|bun) (?:exec|x|dlx)|python3? -m)(?: -\S+| \d+\w?)*(?= |$)/;

/** Options by which a formatter or linter only looks. */
export const LOOKS = /^--?(?:check|check-only|dry-run|list-different|diff)$/;

/** Options by which it mends. */
export const MENDS = /^--?(?:fix|write|apply|autocorrect|autocorrect-all|in-place|w|a|A)$/;

/** Values that many people set: environments, levels, platforms, locales, browsers, directories. */
const SETTINGS_WORDS =
  'development dev test testing production prod staging stage local ci true false yes no on off auto all none always ' +
  'never full short debug info warn warning error trace verbose silent linux darwin windows win32 wasip1 js amd64 arm64 ' +
  'x86_64 wasm wasm32 utc c c.utf-8 c.utf8 en_us.utf-8 ko_kr.utf-8 posix utf-8 utf8 mod vendor readonly native src . .. ' +
  './ ./src lib node bun python chrome chromium firefox webkit dumb xterm xterm-256color integration e2e unit config settings main tests localhost * 0.0.0.0 127.0.0.1';
export const SETTINGS = new Set(SETTINGS_WORDS.split(' '));

/** Names of variables and options whose value is a secret. */
export const SECRET_NAME =
  /비밀|암호|인증|토큰|pass|phrase|pwd|secret|token|key|cred|auth|login|user|cookie|header|bearer|pin\b|otp|license|signature|salt|seed|mnemonic|dsn|connection|webhook|^--?(?:pw|psw|pat|pgp|access|code|data|body|form|from-literal|stdin|env|set|build-arg|secret)$/i;

/** Short options of many programs whose value is one. */
export const SECRET_LETTER = /^-[upPakwHWxbde]$/;

/** Short options that are none of a secret with these programs. */
export const HARMLESS =
  /^(?:git -[abduwx]|docker(?:-compose)? -d|(?:npm|pnpm|yarn|bun) -[DPWdw]|g?make -[bkw]|(?:pytest|go|cargo|tox) -[eikpx]|python3? -[bux]|helm -d)$/;

/** A command that names such a thing takes it as well. */
export const SECRET_BEFORE =
  /(?:^|[\s/.:_-])(?:\w*(?:passw|secret|authtoken)\w*|tokens?|creds?|credentials?|log-?in|unlock|pw|pwd|add-?user|user-?add|(?:user|admin):(?:create|add)|(?:create|set)-?(?:user|admin)|http-basic)(?:$|[\s/.:_[-])/i;

/** Programs that are called with passwords, keys and tokens in any place. */
export const KEEPS_SECRETS =
  /^(?:echo|printf|mysql\w*|mariadb\w*|psql|pg_\w+|createuser|mongo\w*|redis-cli|sqlplus|sqlcmd|isql|bcp|sshpass|vault|az|aws|gcloud|gpg2?|openssl|zip|unzip|7za?|7z|rar|unrar|htpasswd|keytool|jarsigner|ansible-vault|expect|pass|op|bw|lpass|keepassxc-cli|security|ldap\w+|smbclient|xfreerdp|net|cmdkey|runas|curl|wget|httpie|http|https|xh|ftp|lftp|sftp|ssh-keygen|kinit|snmp\w+|ipmitool|wpa_\w+|nmcli|cryptsetup|veracrypt|restic|borg|rclone|steghide|hydra|telnet|nc|influx|cqlsh|clickhouse-client|neo4j|rabbitmqctl|kafka\S*|consul|etcdctl|doctl|heroku|flyctl|fly|vercel|netlify|wrangler|stripe|twilio|sentry-cli|snyk|sonar-scanner|jf|jfrog|nuget|twine|gem|cargo-login|dotnet-user-secrets|passwd|su|chpasswd|usermod|dscl|mount|cifs|plink|pscp|putty|winscp|rdesktop|vncviewer|x11vnc|signtool|codesign|fastlane|altool|notarytool)$/i;

/** Subcommands whose next words may be a secret: `login X`, `set KEY X`. */
export const TAKES_SECRET =
  /^(?:login|passwd|password|auth|token|secrets?|credentials?|unlock|decrypt|encrypt|sign-?in|set-password|add-user|adduser|useradd|chpasswd|export|set|setex|put|write)$/i;

type Named = 'first' | 'image' | 'all' | 'options';

/**
 * Programs that download something in order to run or to install it, and which words behind them are names of it: the first
 * one, the first one that is no option of an image, all, or only the values of options. `--` stands for options before a
 * subcommand.
 */
export const DOWNLOADS: readonly (readonly [names: Named, programs: string])[] = [
  [
    'first',
    'npx|pnpx|bunx|uvx|dnx|pkgx|nix-shell|npm-- (?:exec|x|init|innit|create)|bun-- (?:x|create)|(?:pnpm|yarn)-- (?:dlx|create)|pipx-- (?:run|install|inject)|' +
      'uv-- tool (?:run|install)|deno-- (?:run|install|i|x|create|init|add|serve|test|bench|compile)|go-- (?:run|install|get)|' +
      'cargo-- (?:install|binstall|add)|gem-- exec|dotnet-- (?:tool (?:install|update|exec|run)|add|new)|nuget-- install|' +
      'composer-- (?:global require|require|create-project)|nix-- (?:run|shell|develop|build|profile install)|' +
      'mise-- (?:x|exec|use|install|plugins? \\S+)|asdf-- (?:install|plugin add)|helm-- (?:install|upgrade|pull|plugin install)|' +
      'kubectl-- krew install|gh-- extension (?:install|exec)|code-- --install-extension',
  ],
  ['image', '(?:docker|podman|nerdctl)-- (?:container |image )?(?:run|create|pull)'],
  [
    'all',
    '(?:npm|pnpm|yarn|bun)-- (?:global )?(?:install|i|in|ins|inst|add|isntall|up|update|upgrade|link|ci)|pip[\\d.]*-- install|' +
      'uv-- (?:pip install|pip sync|add|sync)|(?:poetry|pdm|rye|hatch)-- (?:self )?add|pipenv-- install|' +
      '(?:conda|mamba|micromamba)-- (?:install|create)|gem-- (?:install|i|update)|bundle-- add|brew-- (?:install|tap)',
  ],
  ['options', 'uv-- run|pipx-- runpip'],
];

/** Options whose value says what is downloaded, or from where. */
export const NAMING_OPTION =
  /^(?:-p|--package|--from|--with(?:-editable|-requirements)?|--spec|--registry|--(?:extra-|default-)?index(?:-url)?|--find-links|--source|--repo(?:sitory)?|--channel|--userconfig|--git)$/;

/** Options without a value of those programs. */
export const FLAG =
  /^(?:-y|--yes|-q|--quiet|-s|--silent|--verbose|--no|--no-install|--bun|-A|--allow-[\w-]+|--locked|-g|--global)$/;

/** Those of programs that run images. */
export const IMAGE_FLAG = /^(?:--rm|-i|-t|-d|-it|-ti|--init|--interactive|--tty|--detach)$/;
