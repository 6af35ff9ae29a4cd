/** Wordings by which failures are told apart, with the programs that print them. Data alone: failure.ts applies it. */

/** Words by which a line of any program sounds like an error. */
export const SOUNDS_LIKE_ERROR =
  /\b\w*error\b|\w*exception\b|fatal|fail|cannot|can't|could ?n[o']t|unable|denied|\bnot\b|invalid|missing|undefined reference|refus|no such|오류|실패|없|못/i;

/** What to do about it: what went wrong stands before. */
export const HINT = /^(?:hint:|please |try |run |to |tip:|note:|is the server|you can |trust |consider )/i;

/** Margins in which programs put their messages. */
export const MARGIN = /^(?:E {2,}|[│║●✖×>*] *|\[ERROR\] )+/;

/** What the client itself (Claude Code) says about a call that it did not make. */
export const CLIENT_RULE =
  /^(?:(?:Sibling tool call|Cancelled|InputValidationError|File content \(|File has |String to replace|Found \d+ matches of|No changes to make|This tool|Tool \S+ (?:is not|not) |No such tool|Error: No such tool|Output redirection|This Bash command|Contains |Blocked: |Unknown skill|\S+ contains unquoted|Command contains|This command (?:requires|uses|contains|was))|Permission to use|For security)/;

/** What Claude Code writes of a call that somebody ended, and the exit codes of SIGINT, SIGKILL and SIGTERM. */
export const INTERRUPTED =
  /^(?:\[Request interrupted|The user (?:doesn't|does not) want |Command (?:timed out|was aborted)|The operation was (?:aborted|cancelled)|Interrupted)|(?:^|\n)Command timed out after|Exit code 1(?:30|37|43)\b|Killed: 9/;

/** Messages of servers and programs about logins: they lead to commands with secrets in them. */
export const SECRET =
  /\b(?:401|403)\b[^\n]{0,40}(?:unauthori[sz]ed|forbidden)|(?:HTTP|status(?: code)?:?) (?:401|403)\b|unauthori[sz]ed|authentication (?:failed|required)|access denied|permission denied \(publickey|password authentication|incorrect password|invalid (?:password|credentials|api[ -]?key|token)|bad credentials|(?:locate|find|load|no) credentials|auth(?:entication)? login|not logged in|(?:please|must|need to) (?:log ?in|sign ?in|authenticate)|login required|could not read (?:username|password)|(?:비밀번호|암호|로그인|인증)/i;

/** Scanners for secrets, and the heading under which custom ones report. */
export const SCANNER =
  /\b(?:gitleaks|detect-secrets|trufflehog|secretlint|ggshield|git-secrets)\b|hardcoded secrets/i;

/** What a call needs and was not there: of Node.js, Python, Go, Playwright, mise and any that connects. */
export const ENVIRONMENT =
  /ECONNREFUSED|connection refused|EADDRINUSE|address already in use|heap out of memory|Executable doesn't exist|did not initialize yet|no required module provides|(?:cannot|can't|could not) (?:find|import) (?:module|package) ['"]?[\w@]|no module named|ModuleNotFound|failed to spawn|(?:environment variable|env(?:ironment)? var).{0,60}(?:not set|required|missing|undefined|not found|must)/i;

/** Names of variables are written in capitals. */
export const UNSET_VARIABLE =
  /\b[A-Z][A-Z0-9]*_[A-Z0-9_]+["'`]?(?: environment variable| env var)? (?:is |was |must be )?(?:not set|unset|required|missing|undefined|not defined|set)\b|(?:[Ss]et(?:ting)?|environment variable) ["'`]?[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/;

/**
 * Marks of a report about the code under work, in which a line that looks like a wrong call means something else: of tsc
 * and all that print `file:line:column`, go test, bun, jest, vitest, pytest, mocha, eslint, rustc, cargo, git and husky.
 */
export const REPORT =
  /^(?:\[[\w:-]+\] )?\S+\.\w{1,5}[:(]\d+[:,]\d+\)?|^(?:---|===) (?:FAIL|RUN|PASS)|\(fail\)|^ok\s+\S+\s+[\d.]+s|^FAIL\b|(?:^|[\s,(|])\d+ (?:failed\b(?!:)|failing|errors? (?:and|found)|problems? \()|\bTests?:\s+\d|AssertionError|CONFLICT \(|Merge conflict|could not apply|error TS\d+|error\[E\d+\]|would have printed|Found \d+ (?:error|warning|issue|problem)|husky|pre-commit hook|hook (?:exited|failed)|\d+ passed|^test result:/m;

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
    String.raw`(?:unknown|unrecogni[sz]ed|invalid|illegal|bad|unsupported|unexpected|no such|not a valid|undefined|ambiguous)(?: shorthand| long| global| positional| cli| command[- ]line)? (?:option|flag|argument|arg|subcommand|sub-command|command|parameter|switch|primary|keyword argument)s?\b`,
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
    'not found|not recognized|no such|is not a|찾을 수|nicht gefunden|geschrieben|コマンド',
    String.raw`command not found|: not found$|not recognized as (?:an internal|the name)|No such command|is not an? \S+ command|명령(?:어를|을) 찾을 수 없|(?:Kommando|Befehl) nicht gefunden|falsch geschrieben oder|コマンドが見つかりません|内部コマンドまたは外部コマンド`,
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
