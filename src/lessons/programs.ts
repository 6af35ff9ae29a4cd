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

/** Whether the command looks for faults in the code. */
export function isCheck(command: SimpleCommand): boolean {
  return CHECKS.test(textOf(command));
}

/** Whether the command makes ready what others need. */
export function isSetUp(command: SimpleCommand): boolean {
  return /(?:^| )(?:install|ci|i|add|sync|up|start|trust|enable|init|setup|bootstrap|migrate|generate|codegen|tidy|download|vendor|restore|create|mkdir|login|use|build|compile)\b/.test(
    textOf(command),
  );
}

/** Whether the command goes round a check or destroys something: never to be told. */
export function undoes(command: SimpleCommand): boolean {
  const words = textOf(command);
  return (
    /(?:^| )(?:--force(?:-with-lease)?|--no-verify|--hard|--no-gpg-sign|--allow-empty|--skip-\S+|--no-check\S*|--break-system-packages|--privileged|-rf|-fr|--delete|-D|--insecure|-k)(?:[= ]|$)/.test(
      words,
    ) ||
    /^(?:sudo |doas |su |rm |dd |mkfs|chmod -?R? ?777|kill|pkill|killall|shutdown|reboot|truncate|git (?:reset|clean|checkout --|restore|push -f|rebase --skip|stash drop|commit -n|commit .*-n )|docker (?:system prune|volume rm|rm -f)|DROP )/.test(
      words,
    )
  );
}

const FETCHES =
  /^(?:npx|bunx|uvx|pipx run|pnpm dlx|yarn dlx|npm exec|npm x|deno run https?:|go run \S+\.\S+\/|docker run|podman run|curl|wget|iex|irm|Invoke-)|(?:^| )--(?:index-url|extra-index-url|registry)\b/;

/** Whether the command gets something from elsewhere and runs it. */
export function fetchesAndRuns(command: SimpleCommand): boolean {
  return FETCHES.test(textOf(command));
}

/** `lint:fix` beside `lint`, `fmt` beside `lint`, `eslint --fix` beside `eslint`: the same runner's way to repair. */
export function siblingScript(failing: SimpleCommand, other: SimpleCommand): boolean {
  const [words, others] = [plainWords(failing), plainWords(other)];
  if (words.join(' ') === others.join(' ') || others.length === 0) return false;
  const script = words.at(-1) ?? '';
  const isRepair = (word: string) => /(?:^|[:_-])(?:fix|fmt|format|write|autocorrect)(?:$|[:_-])/.test(word);
  if (script === '' || isRepair(script)) return false;
  const last = others.at(-1) ?? '';
  const isSameRunner = words.length > 1 && words.slice(0, -1).join(' ') === others.slice(0, -1).join(' ');
  if (isSameRunner && isRepair(last)) return last.startsWith(script) || /^(?:fmt|format|fix)$/.test(last);
  return (
    others.length === words.length + 1 &&
    others.slice(0, -1).join(' ') === words.join(' ') &&
    /^--?(?:fix|write|apply|autocorrect)/.test(last)
  );
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
