/**
 * What stands on both sides of the name of a program that is missing; one side may be empty. A new language has a wording
 * here and in the next two, and one in failure-wordings.ts.
 */
export const AROUND_PROGRAM = (
  'command not found: *|*: command not found|*: Command not found|*: 명령어를 찾을 수 없|*: 명령을 찾을 수 없|' +
  '*: Kommando nicht gefunden|*: Befehl nicht gefunden|*: コマンドが見つかりません|: *: not found|* not found in PATH|*: not found in PATH|' +
  "failed to run command '*'|failed to run command ‘*’|Could not find program '*'|Could not find `*` installation|" +
  `'*' is not recognized|term '*' is not|'*'은(는) 내부|Befehl "*" ist entweder|'*' は、内部コマンド|` +
  'exec: "*": exec|make: *: No such file|env: *: No such file|' +
  "env: '*': No such file|env: ‘*’: No such file|spawn * ENOENT|" +
  'Cannot run program "*"|linker `*` not found|' +
  "'*' is not a docker command|'*' is not a git command|no such command: `*`|unknown command: *|Error: not found: *"
).split('|');

/** Words that stand beside it, in each of the languages: by these it is searched for. */
export const BESIDE_PROGRAM = [
  'found',
  'such',
  'recognized',
  '찾을',
  '내부',
  'gefunden',
  'コマンドが見つかりません',
];

/**
 * Causes that other programs, versions and languages put in other words: what makes `ECONNREFUSED` and "Connection
 * refused" the same, and "does not exist" and "already exists" different.
 *
 * One line is one cause, with a wording in each cell. A wording begins with a word of its own; `*` in front of one says
 * that a `*` in it stands for anything on the same line. Of a paragraph only the first line that fits counts, so what is
 * more special stands first. `~`: the fix is not known by this alone.
 */
export const CAUSES = `
|cannot find module '.|cannot find module ".|cannot find module '/|*cannot find module '*:\\|can't resolve '.|could not resolve ".|failed to resolve import ".|failed to resolve import "@/|
|does not provide an export named|has no exported member|is not exported by|no matching export in|was not found in '|has no default export|
|could not find a declaration file for module|implicitly has an 'any' type|
|or its corresponding type declarations|해당 형식 선언을 찾을 수|
|no required module provides|*cannot find package "*" in|cannot find module providing|is not in std|is not in goroot|
|cannot find module|cannot find package |err_module_not_found|can't resolve '|failed to resolve import|could not resolve "|unable to resolve module|
|cannot use import statement outside a module|unexpected token 'export'|unexpected token export|to load an es module, set "type"|encountered an unexpected token|
|require is not defined|__dirname is not defined|__filename is not defined|module is not defined in es module|
|err_require_esm|require() of es module|
|err_unknown_file_extension|unknown file extension|
|import attribute of type|import assertion of type|err_import_attribute_missing|err_import_assertion_type_missing|
|node_module_version|did not self-register|was compiled against a different|invalid elf header|
|await is only valid|top-level await|top-level 'await'|
|headers after they are sent|err_http_headers_sent|
|circular structure to json|cyclic object value|
|hydration failed|text content does not match|did not match the server|
|only works in client components|only works in a client component|needs usestate|
|document is not defined|window is not defined|localstorage is not defined|wrong test environment|
|jest is not defined|
|fetch is not defined|
|no module named|
|partially initialized module|circular import|
|cannot import name|
|~|is not defined|
|~|cannot find name|cannot find symbol|기호를 찾을 수 없|

|cannot read properties of undefined|*cannot read property * of undefined|cannot set properties of undefined|undefined is not an object|
|is possibly 'undefined'|is possibly undefined|
|cannot read properties of null|*cannot read property * of null|cannot set properties of null|null is not an object|
|is possibly 'null'|
|'nonetype' object|
|object has no attribute|
|entry in nil map|
|nil pointer dereference|invalid memory address|
|nullpointerexception|" is null|
|*option::unwrap()* none|
|*result::unwrap()* err|
|maximum call stack|too much recursion|maximum recursion depth|stackoverflowerror|overflowed its stack|
|list index out of range|index out of bounds|index out of range|arrayindexoutofboundsexception|indexoutofboundsexception|slice bounds out of range|
|asyncio.run() cannot be called from|event loop is already running|
|event loop is closed|
|no running event loop|no current event loop|
|import file mismatch|
|attempted relative import|beyond top-level package|
|eol while scanning|unterminated string literal|unterminated triple-quoted|
|unexpected eof while parsing|was never closed|
|numpy.dtype size changed|compiled using numpy 1|multiarray failed to import|
|unexpected keyword argument|
|required positional argument|required positional arguments|
|*takes * positional argument|
|unexpected indent|unindent does not match|expected an indented block|inconsistent use of tabs|
|referenced before assignment|cannot access local variable|
|unexpected end of json input|in json at position|is not valid json|jsondecodeerror|expecting property name|unexpected token < in json|
|can't encode character|unicodeencodeerror|
|can't decode byte|unicodedecodeerror|valid utf-8|invalid continuation byte|
|type definitions for node|
|type definitions for a test runner|
|its value is never read|declared and not used|declared but not used|declared but never used|assigned a value but never used|defined but never used|unused variable|
|imported and not used|imported but unused|unused import|
|does not override abstract method|can't instantiate abstract class|
|*tsconfig*not found|*cannot read file *tsconfig|
|*--jsx* is not set|unless the '--jsx' flag|must be in scope when using jsx|refers to a umd global|
|undeclared crate or module|can't find crate for|unlinked crate|no external crate|
|unresolved import|
|requires rustc|not supported by the following package|lock file version|edition2024|
|is not installed for the toolchain|target may not be installed|
|already borrowed|already mutably borrowed|
|*doesn't implement *display|
|~|trait bound|doesn't implement|
|missing go.sum entry|
|go mod tidy|
|go.mod file not found|cannot find main module|go mod init|
|requires go >=|requires go1|toolchain not available|invalid go version|maximum supported version|maximum version supported|
|undefined: |
|concurrent map|data race|
|*cannot use * as * value|*cannot use * as type|
|multiple-value|assignment mismatch|
|not enough return values|not enough arguments to return|
|checksum mismatch|go.sum mismatch|
|unsupportedclassversionerror|more recent version of the java runtime|unsupported major.minor|unsupported class file major version|
|*option * is no longer supported|
|invalid source release|invalid target release|*release version * not supported|
|could not find or load main class|classnotfoundexception|noclassdeffounderror|
|java_home is set to an invalid|java_home is not defined correctly|
|java_home|unable to locate a java runtime|no java executable|
|could not transfer artifact|
|could not resolve dependencies|could not find artifact|could not resolve all|
|no qualifying bean|required a bean of type|unsatisfied dependency|
|failed to configure a datasource|embedded database driver class|
|nosuchmethoderror|nosuchfielderror|
|tools.jar|no compiler is provided|
|not enough arguments in call|
|too many arguments in call|
|~|undefined|
|~|null|

|reached heap limit|heap out of memory|java heap space|gc overhead limit exceeded|
|enospc: system limit|file watchers reached|inotify|
|enospc|no space left on device|disk quota exceeded|not enough space on the disk|남은 공간이 없|kein speicherplatz mehr|空き領域がありません|
|enomem|cannot allocate memory|out of memory|memoryerror|outofmemoryerror|oomkilled|exit code 137|exit code: 137|killed signal terminated program|
|emfile|enfile|too many open files|열린 파일이 너무 많|
|segmentation fault|sigsegv|core dumped|

|eresolve|unable to resolve dependency tree|conflicting peer dependency|
|your pnpm version is incompatible|
|ebadengine|your node version is incompatible|unsupported engine|the engine "node" is incompatible|
|existing package-lock|no_lockfile|pnpm-lock.yaml is absent|
|when your package.json and package-lock|lockfile would have been modified|outdated_lockfile|lockfile is not up to date|lockfile needs to be updated|lockfile is frozen|
|no matches for kind|
|read package.json|*no such file*package.json|no package.json|find a package.json|no_importer_manifest_found|
|missing script|script not found|err_pnpm_no_script|
|eintegrity|integrity check failed|integrity checksum failed|
|ejsonparse|failed to parse json|invalid package.json|
|no matching version found|etarget|couldn't find any versions|
|e404|not in this registry|*registry*not found|
|no matching distribution found|could not find a version that satisfies|
|eneedauth|unable to authenticate|e401|
|err_ossl_evp_unsupported|digital envelope routines|
|externally-managed-environment|externally managed|
|resolutionimpossible|conflicting dependencies|
|can't find python|any python installation|python was not found|
|could not find openssl|find directory of openssl|
|microsoft visual c++|
|can't find rust compiler|

|please tell me who you are|author identity unknown|unable to auto-detect email address|empty ident name|당신이 누구인지|전자메일 주소를 자동으로|wer sie sind|identität des autors unbekannt|
|not a git repository|깃 저장소가 아닙니다|kein git-repository|git リポジトリではありません|gitリポジトリではありません|
|divergent branches|need to specify how to reconcile|
|untracked working tree files would be overwritten|
|would be overwritten by|commit your changes or stash|commit or stash them|you have unstaged changes|로컬 변경 사항을|스테이징하지 않은|lokalen änderungen in den folgenden dateien|committen oder stashen|ローカルの変更|
|updates were rejected|non-fast-forward|fetch first|업데이트가 거부|aktualisierungen wurden zurückgewiesen|更新は拒否されました|
|hook declined|protected branch|
|no upstream branch|no tracking information|업스트림 브랜치가 없|
|unmerged|fix conflicts|automatic merge failed|could not apply|merge conflict|needs merge|unresolved conflict|resolve your current index|병합하지 않은|자동 병합이 실패|병합 충돌|automatischer merge fehlgeschlagen|merge-konflikt|自動マージに失敗|にマージコンフリクト|にマージ競合|
|src refspec|src-refspec|src 레퍼런스|
|find remote ref|*remote branch * not found|
|no configured push destination|does not appear to be a git repository|
|not currently on a branch|detached head|
|cannot lock ref|unable to update local ref|
|rebase-merge directory|rebase in progress|middle of a rebase|
|gpg failed to sign|secret key not available|
|object file is empty|loose object|
|push protection|contains secrets|
|nothing to commit|no changes added to commit|
|did not match any file|pathspec|
|unknown revision|bad revision|not a valid object name|invalid reference: |needed a single revision|not a valid commit|
|*index.lock*file exists|another git process|*index.lock*파일이 있습니다|다른 git 프로세스|*index.lock*existiert bereits|
|acquiring the state lock|
|backend initialization required|
|undeclared input variable|
|dubious ownership|safe.directory|
|permission denied (publickey|publickey).|
|fatal: authentication failed for|could not read username|could not read password|terminal prompts disabled|password authentication was removed|requested url returned error: 403|
|already checked out at|already used by worktree|
|hung up unexpectedly|rpc failed|early eof|
|large files detected|file size limit|
|host key verification failed|host identification has changed|
|are too open|unprotected private key|

|docker daemon socket|docker.sock: connect: permission denied|
|connect to the docker daemon|docker daemon running|error during connect|docker desktop is not running|connect to the docker api|
|pull access denied|requested access to the resource is denied|may require 'docker login'|insufficient_scope|
|no matching manifest|
|manifest unknown|*manifest for *not found|
|pull rate limit|toomanyrequests|too many requests|status code 429|error code: 429|http 429|ratelimiterror|rate limit|
|exec format error|exec 형식 오류|not match the detected host platform|cannot execute binary file|bad cpu type|
|failed to compute cache key|failed to calculate checksum|not found in build context|copy failed|
|failed to read dockerfile|dockerfile: no such file|symlinks in dockerfile|
|already in use by container|
|is unhealthy|
|invalid reference format|must be lowercase|
|mapping values are not allowed|did not find expected key|yaml: line|
|is being used by|image is referenced|unable to remove repository|
|active endpoints|
|no configuration file provided|a suitable configuration file|
|mount a directory onto a file|not a directory: unknown|

|eaddrinuse|address already in use|port is already allocated|*port * already in use|ports are not available|*port * is in use|주소를 이미 사용|주소가 이미 사용|only one usage of each socket|adresse wird bereits verwendet|アドレスは既に使用中|
|cannot assign requested address|eaddrnotavail|

|not-null constraint|not null constraint|cannot be null|null value in column|not null 제약|
|*column * does not exist|no such column|unknown column|has no column named|undefinedcolumn|*spalte * existiert nicht|*列 * は存在しません|
|*relation * already exists|*table * already exists|릴레이션(relation)이 이미|duplicatetable|
|*relation * does not exist|no such table|er_no_such_table|*table * doesn't exist|undefinedtable|릴레이션(relation)이 없습니다|table or view not found|*table * does not exist|*relation * existiert nicht|*リレーション * は存在しません|
|foreign key constraint|foreign key)|foreignkeyviolation|
|check constraint|체크 제약|
|unique constraint|duplicate key|duplicate entry|er_dup_entry|중복된 키|uniqueviolation|doppelter schlüsselwert|重複したキー値|重複キー|
|value too long for type|data too long for column|
|syntax error at or near|error in your sql|": syntax error|
|database is locked|sqlite_busy|database table is locked|
|attempt to write a readonly database|
|deadlock|
|lock timeout|lock wait timeout|
|misconf|
|oom command not allowed|
|too many clients|too many connections|remaining connection slots|
|queuepool limit|new connection from the connection pool|unable to acquire a connection|
|pending migration|migrations are pending|unapplied migration|
|noauth|
|wrongpass|
|*access denied for user * to database|
|access denied for user|
|password authentication failed|password 인증|passwort-authentifizierung|パスワード認証に失敗|sasl authentication failed|bad auth|
|*database * does not exist|unknown database|
|*role * does not exist|
|server closed the connection|connection terminated unexpectedly|server has gone away|lost connection to|
|did not initialize yet|prisma generate|
|current transaction is aborted|infailedsqltransaction|

|not found: make|
|command not found|is not recognized as|내부 또는 외부 명령|명령어를 찾을 수 없음|명령을 찾을 수 없|*sh: *: not found|executable file not found|*spawn * enoent|*make: *: no such file|*env: *no such file|unknown command|no such command|kommando nicht gefunden|befehl nicht gefunden|falsch geschrieben oder|コマンドが見つかりません|内部コマンドまたは外部コマンド|
|unbound variable|parameter not set|
|can't cd to|*cd: *: no such file|cd: no such file|
|integer expression expected|integer expected|illegal number|
|looking for matching|unterminated quoted string|
|unexpected end of file|end of file unexpected|
|near unexpected token|parse error near|*syntax error: *unexpected|
|*unit * is masked|
|*unit * not found|could not find the requested service|
|argument list too long|e2big|argumentliste ist zu lang|引数リストが長すぎ|
|^m: bad interpreter|^m: 잘못된|^m: defekter|$'\\r': command|
|bad interpreter|required file not found|잘못된 인터프리터|defekter interpreter|誤ったインタプリタ|$'\\r'|
|read-only file system|erofs|읽기 전용 파일 시스템|읽기전용 파일 시스템|dateisystem ist nur lesbar|読み込み専用ファイルシステム|
|ebusy|resource busy|자원이 동작 중|device or resource busy|text file busy|lnk1104|lnk1168|
|enotempty|directory not empty|디렉터리가 비어|verzeichnis ist nicht leer|ディレクトリは空ではありません|
|eisdir|is a directory|isadirectoryerror|illegal operation on a directory|디렉터리입니다|ist ein verzeichnis|
|omitting directory|
|~|enotdir|not a directory|디렉터리가 아닙니다|ist kein verzeichnis|ディレクトリではありません|
|not in gzip format|not look like a tar archive|
|password is required|terminal is required|no askpass program|
|*lock*permission denied|*lock*허가 거부|are you root|
|could not get lock|lock-frontend|dpkg/lock|잠금 파일|konnte nicht gesperrt|
|dpkg was interrupted|dpkg --configure -a|
|no_pubkey|
|unable to locate package|no installation candidate|패키지를 찾을 수 없|*paket * kann nicht gefunden|*パッケージ * が見つかりません|
|~|invalid option|unrecognized option|illegal option|unknown option|unknown flag|unrecognized arguments|알 수 없는 옵션|
|have a release file|
|running scripts is disabled|실행할 수 없으므로|skripts auf diesem system deaktiviert|スクリプトの実行が無効|

|unable to locate credentials|nocredentialserror|could not load credentials|
|expiredtoken|token has expired|
|not authorized to perform|
|active account selected|
|required property [|
|has not been used in project|
|certificate has expired|cert_has_expired|cert_date_invalid|certificate expired|
|no alternative certificate subject|altname_invalid|hostname mismatch|not match target host|
|self signed|self-signed|self_signed_cert_in_chain|
|local issuer certificate|unable_to_get_issuer|first certificate|unable_to_verify_leaf_signature|unknown authority|cert_authority_invalid|pkix path|certification path|certificate_verify_failed|certificate verify failed|
|wrong version number|wrong_version_number|plain http request|to an https server|to https client|
|cors policy|cross-origin request blocked|access-control-allow-origin|
|*redis*refused|*connection refused*:6379|*econnrefused*:6379|
|*mongo*refused|*connection refused*:27017|*econnrefused*:27017|
|*elastic*refused|*connection refused*:9200|*econnrefused*:9200|
|*mysql*refused|*connection refused*:3306|*econnrefused*:3306|
|*postgres*refused|*psql*refused|*connection refused*:5432|*econnrefused*:5432|*port 5432*refused|*psql*연결이 거부|
|econnrefused|connection refused|연결이 거부|연결을 거부|actively refused|connection_refused|couldn't connect to server|verbindungsaufbau abgelehnt|接続を拒否されました|
|enotfound|eai_again|could not resolve host|service not known|name resolution|nodename nor servname|no such host|name_not_resolved|unknown host|unknownhostexception|getaddrinfo|could not translate host name|이름 혹은 서비스를 알 수 없|이름 해석|호스트를 찾을 수 없|호스트 이름을|dienst ist nicht bekannt|名前またはサービスが不明|
|econnreset|connection reset|socket hang up|상대편에 의해 끊|연결이 끊|
|ehostunreach|enetunreach|network is unreachable|no route to host|호스트로 갈 루트가 없|네트워크에 연결할 수 없|네트워크가 접근 불가능|
|epipe|broken pipe|파이프가 깨|
|too many redirects|too_many_redirects|maximum redirect|exceeded 30 redirects|
|invalid url|only absolute urls|failed to parse url|no scheme supplied|
|failed to fetch|attempting to fetch resource|
|empty reply from server|closed connection without response|server disconnected|
|proxy authentication required|response 407|
|401 unauthorized|status code 401|unauthorized|error code: 401|invalid api key|incorrect api key|
|~|403 forbidden|status code 403|forbidden|
|~|status code 404|404 not found|http 404|
|~|status code 500|500 internal server error|
|bad gateway|status code 502|
|service unavailable|status code 503|
|gateway timeout|gateway time-out|status code 504|
|entity too large|payload too large|status code 413|
|etimedout|connection timed out|connect timeout|connect timed out|operation timed out|connection_timed_out|i/o timeout|handshake timeout|deadline exceeded|client.timeout|timeout was reached|read timed out|연결 시간이 초과|연결 시간 초과|verbindung abgelaufen|接続がタイムアウト|
|~|timed out|timeout|시간 초과|시간이 초과|

|*fatal error: *: no such file|.h' file not found|open include file|.h: 그런 파일|.h: そのような|.h: datei oder|
|undefined reference|undefined symbols|unresolved external symbol|정의되지 않은 참조|nicht definierter verweis|定義されていない参照|
|cannot find -l|library not found for -l|unable to find library|*library '*' not found|
|undeclared (first use|undeclared identifier|was not declared in this scope|
|multiple definition|duplicate symbol|
|rule to make target|known rule to make|만들 규칙이 없|keine regel, um|を make するルールがありません|
|cmake_cxx_compiler|cmake_c_compiler|make: g++: no such|make: gcc: no such|make: cc: no such|no acceptable c compiler|
|does not match the source|does not match the generator|
|active developer path|no xcode or clt|requires xcode|
|any visual studio installation|find visual studio|
|include polyfills for node.js core|externalized for browser|built into node|
|could not find a package configuration file|*could not find * (missing:|
|missing separator|분리 기호가 빠|fehlendes trennzeichen|分離記号を欠いて|
|recipe commences before|
|*compatibility with cmake *removed|
|*cmake *or higher is required|
|no makefile found|no targets specified|
|an appropriate loader|no loader is configured|
|has no member named|no member named|
|shared object file|loading shared libraries|library not loaded|

|*snapshot*failed|*snapshot*mismatch|not match stored snapshot|snapshots obsolete|*snapshot*obsolete|
|exceeded timeout|test timed out|*timeout of * exceeded|test timeout of|timeout >|
|host system is missing dependencies|playwright install-deps|
|executable doesn't exist|playwright install|
|browser has been closed|target closed|session closed|
|jest-environment-jsdom|
|not natively supported|suitable plugin for your async|
|detectopenhandles|did not exit one second|failed to exit gracefully|
|no tests found|no test files|collected 0 items|no tests ran|no tests were found|no test suite found|contain at least one test|
|unable to find an element|unable to find an accessible element|unable to find role|
|coverage threshold|required test coverage|test coverage of|
|~|expect(received)|assertionerror|assertion failed|comparisonfailure|err_assertion|assertion \`left|

|has not been read yet|has not been read|
|file has been modified|unexpectedly modified|
|multiple occurrences|matches of the string|
|string to replace not found|did not appear verbatim|string not found in file|
|no changes to make|exactly the same|
|maximum allowed tokens|maximum allowed size|
|cannot create new file|
|command timed out|
|couldn't find a configuration file|couldn't find an eslint.config|
|find the plugin|failed to load plugin|
|failed to load config|find the config|
|ignored because of|*matched by *are ignored|
|no such tool|unknown tool|
|required parameter|is a required property|
|unexpected parameter|unrecognized key|
|cannot read binary|is a binary file|appears to be binary|
|code style issues|would reformat|would be reformatted|formatter would have printed|
|requires approval|haven't granted it|permission to use|

|~|eexist|file already exists|fileexistserror|file exists|파일이 있습니다|existiert bereits|ファイルが存在します|
|~|enoent|no such file|filenotfounderror|그런 파일이나|cannot find the file|cannot find the path|지정된 파일을|file does not exist|datei oder verzeichnis nicht gefunden|そのようなファイルや|
|~|eacces|permission denied|permissionerror|access is denied|access denied|허가 거부|액세스가 거부|keine berechtigung|zugriff verweigert|許可がありません|アクセスが拒否|
|~|eperm|not permitted|허용되지 않은|허용하지 않|operation nicht erlaubt|許可されていない操作|
|~|already exists|이미 있|이미 존재|
|~|권한이 없|
|~|찾을 수 없|
`;
