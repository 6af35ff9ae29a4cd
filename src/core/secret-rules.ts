/**
 * What secrets look like, as data; redact.ts walks along it. Prefixes and lengths are those that the issuers document or
 * that secret scanners publish; `bun scripts/check-secret-rules.ts gitleaks.toml` says which of a scanner's rules are not
 * met yet. Headers, cookies and values behind names are found in redact-named.ts; which words of a command are told at all is
 * a list of its own, in lessons/program-lists.ts.
 */

/**
 * Tokens with a shape of their own: a text that every such token contains (`|` parts several), and the shape. A shape is
 * compiled only where its text occurs. Lengths are lower limits: who shortens a token for a log mostly leaves more of it than that.
 */
export const TOKEN_SHAPES: readonly (readonly [near: string, shape: string])[] = [
  // Models and agents
  ['sk-', 'sk-(?=[\\w-]{0,100}\\d)[\\w-]{16,400}'], // Anthropic, OpenAI, OpenRouter, DeepSeek
  ['hf_', 'hf_[A-Za-z0-9]{20,64}'],
  ['api_org_', 'api_org_[A-Za-z0-9]{20,64}'],
  ['gsk_', 'gsk_[A-Za-z0-9]{20,80}'],
  ['xai-', 'xai-[A-Za-z0-9]{32,120}'],
  ['pplx-', 'pplx-[A-Za-z0-9]{20,80}'],
  ['r8_', 'r8_[A-Za-z0-9]{30,60}'],
  ['nvapi-', 'nvapi-[\\w-]{32,100}'],
  ['lsv2_', 'lsv2_(?:pt|sk)_[a-f0-9]{24,40}(?:_[a-f0-9]{6,16})?'],
  ['pcsk_', 'pcsk_[A-Za-z0-9_]{24,120}'],
  ['tvly-', 'tvly-[\\w-]{20,60}'],
  ['fw_', 'fw_(?=[A-Za-z]{0,40}\\d)[A-Za-z0-9]{22,40}'],
  ['jina_', 'jina_[\\w-]{30,80}'],
  ['wandb_v1_', 'wandb_v1_[\\w-]{30,120}'],
  // Repositories and packages
  ['ghp_|gho_|ghu_|ghs_|ghr_', 'gh[pousr]_[A-Za-z0-9]{16,255}'],
  ['github_pat_', 'github_pat_[A-Za-z0-9_]{20,255}'],
  ['gl', 'gl(?:pat|dt|rt|rtr|ptt|cbt|ft|ffct|imt|agent|oas|soat|wt)-[\\w.-]{16,300}'], // GitLab
  ['GR1348941', 'GR1348941[\\w-]{20}'],
  ['ATBB', 'ATBB[A-Za-z0-9]{28,40}'], // Bitbucket
  ['ATATT3', 'ATATT3[\\w=-]{40,255}'], // Atlassian
  ['ATCTT3', 'ATCTT3[\\w=-]{40,255}'],
  ['npm_', 'npm_[A-Za-z0-9]{30,64}'],
  ['pypi-', 'pypi-Ag[\\w-]{16,400}'],
  ['rubygems_', 'rubygems_[a-f0-9]{32,64}'],
  ['CLOJARS_', 'CLOJARS_[a-z0-9]{40,80}'],
  ['oy2', 'oy2[a-z0-9]{43}'], // NuGet
  ['cio', 'cio[A-Za-z0-9]{32}'], // crates.io
  ['dckr_', 'dckr_(?:pat|oat)_[\\w-]{16,80}'],
  ['AKCp', 'AKCp[A-Za-z0-9]{60,80}'], // Artifactory
  ['cmVmd', 'cmVmd[A-Za-z0-9]{50,80}'],
  ['sgp_', 'sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}'],
  ['sqp_|squ_|sqa_', 'sq[pau]_[a-f0-9]{40}'], // SonarQube
  ['CCIPAT_|CCIPRJ_', 'CCIP(?:AT|RJ)_[A-Za-z0-9]{16,40}_[a-f0-9]{30,60}'],
  ['bkua_', 'bkua_[a-f0-9]{40}'], // Buildkite
  ['snyk_', 'snyk_(?:uat|sat)\\.[\\w.-]{20,200}'],
  ['figd_', 'figd_[\\w-]{30,80}'],
  ['phc_|phx_', 'ph[cx]_[A-Za-z0-9]{30,60}'],
  // Clouds
  [
    'AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ABIA|ACCA|A3T',
    'A(?:KIA|SIA|GPA|IDA|ROA|NPA|BIA|CCA|3T[A-Z0-9])[A-Z0-9]{12,124}',
  ], // AWS
  ['ABSK', 'ABSK[A-Za-z0-9+/]{40,269}={0,2}'],
  ['bedrock-api-key-', 'bedrock-api-key-[A-Za-z0-9+/=]{20,400}'],
  ['AIza', 'AIza[\\w-]{30,60}'], // Google
  ['ya29.', 'ya29\\.[\\w-]{16,400}'],
  ['1//0', '1//0[\\w-]{24,120}'],
  ['GOCSPX-', 'GOCSPX-[\\w-]{16,64}'],
  ['Q~', '[\\w~.-]{3,4}\\dQ~[\\w~.-]{28,40}'], // Azure
  ['AZDO', '[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{10,30}AZDO[A-Za-z0-9]{4}'],
  ['LTAI', 'LTAI[A-Za-z0-9]{12,24}'], // Alibaba
  ['AKID', 'AKID[A-Za-z0-9]{28,40}'], // Tencent
  ['doo_|dop_|dor_', 'do[opr]_v1_[a-f0-9]{32,80}'], // DigitalOcean
  ['HRKU-', 'HRKU-[\\w-]{30,80}'],
  ['v1.0-', 'v1\\.0-[a-f0-9]{24}-[a-f0-9]{100,160}'], // Cloudflare
  ['fo1_', 'fo1_[\\w-]{40,48}'], // Fly
  ['fm', 'fm(?:1[ar]|2)_[A-Za-z0-9+/]{40,}={0,3}'],
  ['tk-us-', 'tk-us-[\\w-]{40,60}'],
  ['dapi', 'dapi[a-f0-9]{32}(?:-\\d)?'], // Databricks
  ['sbp_', 'sbp_(?:v0_)?[a-f0-9]{32,64}'], // Supabase
  ['sb_', 'sb_secret_[\\w-]{20,80}'],
  ['pscale_', 'pscale_(?:tkn|oauth|pw|app)_[\\w=.-]{24,80}'],
  ['napi_', 'napi_[a-z0-9]{40,80}'], // Neon
  ['nfp_|nfc_|nfo_|nfb_', 'nf[pcob]_[A-Za-z0-9]{30,60}'], // Netlify
  ['vc', 'vc[kpiar]_[A-Za-z0-9]{24,80}'], // Vercel
  ['vercel_', 'vercel_(?:blob_rw|pat)_[A-Za-z0-9_]{24,80}'],
  ['rnd_', 'rnd_[A-Za-z0-9]{24,48}'], // Render
  ['SCW', 'SCW[A-Z0-9]{17}'],
  ['ocid1.', 'ocid1\\.[a-z]{3,20}\\.oc1\\.[\\w.-]{0,20}\\.a{4,}[a-z0-9]{40,80}'],
  ['pul-', 'pul-[a-f0-9]{40}'],
  ['.atlasv1.', '[A-Za-z0-9]{14}\\.atlasv1\\.[\\w=-]{40,80}'], // Terraform
  ['hvs.|hvb.|hvr.', 'hv[sbr]\\.[\\w-]{20,400}'], // Vault
  ['s.', 's\\.(?=[A-Za-z]{0,23}\\d)(?=[A-Za-z0-9]{0,23}[A-Z])[A-Za-z0-9]{24}(?![A-Za-z0-9])'],
  ['dp.', 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{30,50}'], // Doppler
  ['ops_', 'ops_eyJ[A-Za-z0-9+/]{40,}={0,3}'], // 1Password
  ['A3-', 'A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}'],
  ['akl', 'akl_[A-Za-z0-9]{20,60}|akless[A-Za-z0-9]{20}'],
  ['sha256~', 'sha256~[\\w-]{43}'], // OpenShift
  ['K10', 'K10[a-f0-9]{64}::[a-z0-9:-]{1,40}:[a-f0-9]{32}'], // k3s
  ['tskey-', 'tskey-[a-z]{2,12}-[A-Za-z0-9-]{16,80}'], // Tailscale
  ['nbp_', 'nbp_[A-Za-z0-9]{36}'],
  ['dnkey-', 'dnkey-[a-z0-9=_-]{20,30}-[a-z0-9=_-]{40,60}'],
  ['t1.', 't1\\.[A-Z0-9a-z_-]{20,}[=]{0,2}\\.[\\w-]{60,90}={0,2}'], // Yandex
  ['AQVN', 'AQVN[\\w-]{30,44}'],
  ['YC', 'YC(?=[\\w-]{0,37}\\d)[\\w-]{38}'],
  // Messages and mail
  ['xox', 'xox[abeoprsdc](?:\\.xox[bp])?-[A-Za-z0-9-]{10,400}'], // Slack
  ['xapp', 'xapp-[A-Za-z0-9-]{10,255}'],
  ['hooks.slack.com/', '(?<=hooks\\.slack\\.com/(?:services|workflows|triggers)/)[\\w/-]{8,200}'],
  ['/webhooks/', '(?<=/api/(?:v\\d{1,2}/)?webhooks/)\\d{5,25}/[\\w-]{20,120}'], // Discord
  ['/IncomingWebhook/', '(?<=/webhook\\w{0,3}/)[\\w@-]{20,120}/IncomingWebhook/[\\w/-]{20,120}'], // Teams
  ['chat.googleapis.com', '(?<=chat\\.googleapis\\.com/v1/spaces/)[\\w-]{5,30}/messages\\?\\S{10,300}'],
  ['hooks.zapier.com', '(?<=hooks\\.zapier\\.com/hooks/catch/)[\\w/-]{8,80}'],
  ['/bot/v2/hook/', '(?<=/bot/v2/hook/)[\\w-]{20,60}'], // Feishu
  ['maker.ifttt.com', '(?<=maker\\.ifttt\\.com/\\S{0,80}/key/)[\\w-]{20,60}'],
  ['outlook.office', '(?<=outlook\\.office(?:365)?\\.com/webhook/)\\S{20,300}'],
  ['SG.', 'SG\\.[\\w-]{16,64}\\.[\\w-]{16,64}'], // SendGrid
  ['xkeysib-', 'xkeysib-[a-f0-9]{40,80}-[A-Za-z0-9]{10,24}'],
  ['xsmtpsib-', 'xsmtpsib-[a-f0-9]{40,80}-[A-Za-z0-9]{10,24}'],
  ['key-', '(?:pub)?key-[a-f0-9]{32}'], // Mailgun
  ['-', '[a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8}(?![A-Za-z0-9-])'],
  ['-us', '[a-f0-9]{32}-us\\d{1,2}'], // Mailchimp
  ['md-', 'md-(?=[\\w-]{0,21}\\d)(?=[\\w-]{0,21}[A-Z])[\\w-]{22}(?![\\w-])'],
  ['re_', 're_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,28}'], // Resend
  ['PMAK-', 'PMAK-[a-f0-9]{24}-[a-f0-9]{20,40}'], // Postman
  ['SK', 'SK[a-f0-9]{32}'], // Twilio
  [':AA', '\\d{8,10}:AA[\\w-]{30,40}'], // Telegram
  [':APA91b', '[\\w-]{8,24}:APA91b[\\w-]{60,200}'],
  ['AAAA', 'AAAA[\\w-]{7}:[\\w-]{100,160}'],
  // Discord: the user's number in base64, a time, a signature
  ['.', '[MNO][A-Za-z\\d]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,40}'],
  ['ntn_', 'ntn_[A-Za-z0-9]{40,60}'], // Notion
  ['secret_', 'secret_(?=[A-Za-z]{0,40}\\d)[A-Za-z0-9]{32,60}'],
  ['lin_', 'lin_(?:api|oauth)_[A-Za-z0-9]{16,80}'],
  ['pat', 'pat[A-Za-z0-9]{14}\\.[a-f0-9]{40,80}'], // Airtable
  ['pat-', 'pat-[a-z]{2}\\d-[a-f0-9-]{36}'], // HubSpot
  ['pat.|sat.', '[ps]at\\.[\\w-]{16,30}\\.[A-Za-z0-9]{20,30}\\.[A-Za-z0-9]{16,24}'], // Harness
  ['tfp_', 'tfp_[\\w.=-]{40,80}'],
  ['rdme_', 'rdme_[a-z0-9]{50,80}'],
  ['CFPAT-', 'CFPAT-[\\w-]{40,60}'],
  ['fio-u-', 'fio-u-[\\w=-]{40,80}'],
  ['secret-', 'secret-(?:sandbox|production)-[a-f0-9-]{30,40}'],
  ['access-', 'access-(?:sandbox|development|production)-[a-f0-9-]{36}'], // Plaid
  ['dG9rO', 'dG9rO[A-Za-z0-9+/]{40,80}={0,2}'], // Intercom
  ['live_|test_', '(?:live|test)_(?:pub_)?[a-f0-9]{31,35}'], // Lob
  ['live_', 'live_(?=[\\w=-]{0,39}[A-Z])[\\w=-]{40}'], // GoCardless
  // Money and shops
  ['sk_', 'sk_(?:live|test|prod)_[A-Za-z0-9]{10,255}'], // Stripe
  ['rk_', 'rk_(?:live|test|prod)_[A-Za-z0-9]{10,255}'],
  ['pk_', 'pk_(?:live|test)_[A-Za-z0-9]{10,255}'],
  ['whsec_', 'whsec_[A-Za-z0-9+/=]{16,128}'],
  ['shp', 'shp(?:at|ca|pa|ss|tka|ua)_[A-Fa-f0-9]{16,64}'],
  ['sq0', 'sq0(?:atp|csp|idp)-[\\w-]{16,64}'], // Square
  ['EAAA', 'EAAA[\\w-]{22,80}'],
  ['access_token$', 'access_token\\$(?:production|sandbox)\\$[a-z0-9]{16}\\$[a-f0-9]{32}'], // Braintree
  ['A21AA', 'A21AA[\\w-]{60,120}'], // PayPal
  ['EAA', 'EAA(?=[A-Za-z]{0,80}\\d)[A-Za-z0-9]{60,400}'], // Facebook
  ['IGQV', 'IGQV[\\w-]{60,300}'],
  ['FLW', 'FLW(?:SECK|PUBK)_TEST-[a-h0-9]{12,32}(?:-X)?'],
  ['FLWSECK-', 'FLWSECK-[a-f0-9]{32}-X'],
  ['duffel_', 'duffel_(?:test|live)_[\\w=-]{40,48}'],
  ['EZ', 'EZ[AT]K[A-Za-z0-9]{50,60}'], // EasyPost
  ['shippo_', 'shippo_(?:live|test)_[a-fA-F0-9]{40}'],
  ['p8e-', 'p8e-[a-z0-9]{32}'], // Adobe
  ['amzn', 'amzn(?:1\\.oa2-cs\\.v1\\.|\\.mws\\.)[a-f0-9-]{30,80}'],
  ['Atz', 'Atz[ar]\\|[\\w+/=-]{40,600}'],
  ['sm_', 'sm_[aps]at_[A-Za-z0-9]{16}'],
  // What runs
  ['NRA', 'NRA[KA]-[A-Za-z0-9]{20,40}'], // New Relic
  ['NRI', 'NRI[IQ]-[\\w-]{20,40}'],
  ['NRJS-', 'NRJS-[a-f0-9]{19}'],
  ['NRAL', '[a-f0-9]{36}NRAL'],
  ['sntry', 'sntry[su]_[\\w+/=-]{40,400}'], // Sentry
  ['glc_', 'glc_[A-Za-z0-9+/]{32,400}={0,3}'], // Grafana
  ['glsa_', 'glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}'],
  ['eyJrIjoi', 'eyJrIjoi[A-Za-z0-9+/]{40,400}={0,3}'],
  ['dt0', 'dt0[a-z]\\d{2}\\.[A-Za-z0-9]{24}\\.[A-Za-z0-9]{64}'], // Dynatrace
  ['sdk-|mob-|api-', '(?:sdk|mob|api)-[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}'], // LaunchDarkly
  ['API-', 'API-(?=[A-Z]{0,26}\\d)[A-Z0-9]{25,32}'], // Octopus
  ['ico-', 'ico-[A-Za-z0-9]{32}'],
  ['hcai', 'hcai[ck]_[a-z0-9]{50,70}'], // Honeycomb
  ['pnu_', 'pnu_[A-Za-z0-9]{36}'],
  ['apify_api_', 'apify_api_[A-Za-z0-9]{30,50}'],
  ['k.', '[ps]k\\.[a-z0-9]{60}\\.[a-z0-9]{22}'],
  ['k.eyJ', '[pst]k\\.eyJ[\\w-]{20,200}\\.[\\w-]{16,60}'], // Mapbox
  ['_mmk', '[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk'],
  ['4b1d', '4b1d[A-Za-z0-9]{38}'], // ClickHouse
  ['s-s4t2', 's-s4t2(?:ud|af)-[a-f0-9]{64}'],
  [
    '.acc',
    '(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\\.[a-z0-9]{4,6}\\.acc[_-][a-z0-9-]{10,32}\\.[\\w+/=-]{30,120}',
  ],
  ['_gitlab_session', '_gitlab_session=[a-f0-9]{32}'],
  // Keys, and what stands for a password
  [
    ':543|:*:|:6432:|:3306:|:1433:|:1521:',
    '(?<=^[\\w.*-]{1,100}:(?:\\d{4,5}|\\*):[\\w*-]{1,60}:[\\w*.@-]{1,60}:)[^\\s:]{3,200}$',
  ], // .pgpass
  ['AGE-SECRET-KEY-', 'AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{30,120}'],
  ['eyJ', 'eyJ[\\w-]{8,2000}\\.[\\w-]{8,4000}(?:\\.[\\w-]{0,2000})?'], // JSON web tokens
  ['ZXlK', 'ZXlK[A-Za-z0-9+/]{60,4000}={0,2}'],
  ['.local.|.public.', 'v[1-4]\\.(?:local|public)\\.[\\w-]{32,2000}'],
  ['xprv', '[xyzt]prv[A-HJ-NP-Za-km-z1-9]{100,112}'],
  ['nsec1', 'nsec1[a-z0-9]{50,60}'],
  ['$', '\\$(?:1|2[abxy]|5|6|y|apr1|argon2(?:id?|d)|scrypt|pbkdf2[\\w-]{0,10})\\$[\\w./$=,+-]{20,200}'],
  ['SCRAM-SHA-256$', 'SCRAM-SHA-256\\$[\\w+/=:$]{40,200}'],
];

/**
 * Parts of names whose value is a secret wherever they stand in the name, without its separators: `db_password2`,
 * `secretKeyBase`, `비밀번호확인`.
 */
export const SECRET_STEMS: readonly string[] = (
  'password passwd passwort passphrase passcode storepass keypass dbpass rootpass userpass adminpass ' +
  'mysqlpass pgpass secret token apikey accesskey privatekey accountkey encryptionkey signingkey authkey ' +
  'servicekey sharedkey masterkey connectionstring credential mnemonic seedphrase recoveryphrase ' +
  'basicauth httpauth oauth2bearer 비밀번호 비밀키 비밀열쇠 비번 암호 패스워드 패스프레이즈 인증키 인증번호 인증토큰 서비스키 접근키 액세스키 개인키 시크릿 토큰 api키 복구구문 니모닉'
).split(' ');

/** The same where they are a word of the name: `DB_PW`, `sudoPass`, `pwd`. */
export const SECRET_WORDS: ReadonlySet<string> = new Set(
  'pass pw pwd psw psk pswd passw pword userpw dbpw rootpw cred creds otp totp pin 키 핀번호'.split(' '),
);

/** Words of names whose value may be a secret: it is when it looks made at random. */
export const DOUBTFUL_WORDS: ReadonlySet<string> = new Set(
  (
    'key keys sig sign signature hmac session sessionid sessid sid phpsessid jsessionid cookie csrf xsrf jwt bearer auth ' +
    'seed salt dsn license licence webhook refresh access code encryption ' +
    '세션 서명 열쇠 라이선스 ' +
    // Whose settings are mostly keys
    'adafruit adobe airtable algolia alibaba asana atlassian bitbucket bittrex cloudflare codecov cohere coinbase confluent ' +
    'confluence contentful datadog discord droneci dropbox etsy facebook fastly finicity finnhub flickr freshbooks gitter ' +
    'gocardless heroku hubspot instagram intercom jfrog jira kakao kraken kucoin launchdarkly linear linkedin lob looker mailchimp mailgun ' +
    'mapbox mattermost meraki messagebird naver netlify newrelic nytimes okta plaid rapidapi sendbird sendgrid sentry snyk sonar ' +
    'sourcegraph squarespace sumo telegram telegr tosspayments travis trello twilio twitch twitter typeform yandex zendesk'
  ).split(' '),
);

/** Ends of names that only speak of a secret: `tokenizer`, `token_type`, `max_tokens`, `PUBLIC_KEY`, `cacheKey`. */
export const HARMLESS_NAME =
  'tokens$|(?:count|limit|length|size|type|name|names|ttl|expir\\w*|expires_in|file|path|url|uri|header|field|format|iz\\w+|policy|usage|' +
  'version|provider|issuer|manager|service|store|ref|label|hint|title|rule|rules|strength|min|max|required|enabled|valid|prompt|' +
  'status|endpoint|algorithm|alg|kind|column|input|code_length|class|scope|reset|changed|attempts|age)$|' +
  '(?:public|primary|foreign|sort|cache|partition|row|index|object|bucket|group|lock|storage|query|registry|translation|i18n|map|' +
  'hot|short|composite|unique|candidate|react|item|list|route|menu|arrow|registry|idempotency|dedupe|sort|range|hash)[_.-]?keys?$|' +
  'bypass$|compass$|\\.(?:[cm]?[jt]sx?|py|rb|go|rs|java|kt|php|cc?|h|cpp|cs|swift|vue|svelte|s?css|html?|json|ya?ml|toml|mdx?|txt|sh|sql|lock|pem|env|ini|conf|xml|log|gradle|tf|lua|dart|exs?)$|_pass(?:ed|es|ing)?_?(?:rate|count)|^pass_criteri(?:a|on)$|^(?:old)?pwd_?path$|git[_-]?hash|commit|checksum|integrity';

/** What programs call it to let somebody in, or to keep what does. */
const VERBS =
  'login|signin|sign-in|logon|unlock|unseal|adduser|useradd|createuser|create-user|add-user|secret|secrets|kv|login_';

/**
 * Where commands and files of programs take a secret: `§` is the secret, `~§` one that has to look like a password, `…` any
 * words or none, `_` one word or a part of it, `¶` a word that names a secret, `a|b` one of several. What follows the secret
 * only has to follow.
 */
export const SECRET_PLACES: readonly string[] = [
  'mysql|mysqldump|mysqladmin|mysqlimport|mysqlsh|mariadb|mariadb-dump|mariadb-admin … -p§',
  'mysqladmin|mariadb-admin … password §',
  'psql … -W §',
  'sqlplus|sqlldr|sqlcl|expdp|impdp|rman|tnsping … _/§@',
  'CONNECT|connect|CONN|conn _/§@',
  'exp|imp|sql … _/~§@',
  'isql|iusql _ _ §',
  'mongosh|mongo|mongodump|mongorestore|mongoexport|mongoimport|cqlsh|snowsql|rabbitmqadmin … -p|-pw §',
  'vercel|vc|netlify|snyk … -t|--token §',
  'rclone obscure §',
  'mongosh|mongo ~§',
  'redis-cli|valkey-cli|keydb-cli … -a|--pass|AUTH|auth|requirepass §',
  'etcdctl … --user _:§',
  'set-initial-password|reset-admin-password|reset-password|change-password §',
  '<<< ~§',
  'couchbase-cli|crackmapexec|netexec|evil-winrm|ftpput|dsconf|impacket-psexec … -p|-w §',
  'codecov|cloudflared … -t|install §',
  'set-password|change_password|add_user|create_user|set_password _ §',
  'docker|podman|helm|nerdctl|buildah|skopeo|oras|crane|az|eas|gh|oc|jf|argocd|rancher|npm|heroku|cf|mc … login … -p|-t|--pwd §',
  'az|aws|gcloud … secret|secrets|secretsmanager|ssm|keyvault … --value|--secret-string|--data §',
  'vault login|unwrap §',
  'vault operator unseal §',
  'vault token lookup|renew|revoke|capabilities §',
  'vault login|write|kv … _=§',
  'aws configure set ¶ §',
  'doctl auth init … -t|--access-token §',
  'netlify|ntl … --auth|-a §',
  'snyk auth §',
  'lpass|bw|op|pass|rbw|keepassxc-cli unlock|login|signin §',
  'sonar-scanner|mvn|gradle|gradlew|sbt … -Dsonar.login=§',
  'gh|glab … secret|variable … -b|--body|-v §',
  '--with-token|--password-stdin|--stdin|login|passwd|sudo|su|kinit|cryptsetup|gpg|openssl|tee … <<< §',
  'gh|glab … --with-token §',
  'echo|printf … § | … --password-stdin|--with-token|--stdin|-S|chpasswd|passwd|kinit|htpasswd|cryptsetup|gpg|docker|vault|pbcopy|secret|gh|faillock',
  'echo|printf … _:§ | … chpasswd',
  'npm|pnpm|yarn|pip|pip3|poetry|bundle|composer|conda|pulumi|ngrok|rclone|firebase|dotnet|consul|redis-cli … set|set-env|put ¶ §',
  'poetry|composer|bundle config ¶ §',
  'poetry|composer config … _http-basic._ _ §',
  'http-basic._ _ §',
  'dotnet user-secrets … set _ §',
  'pulumi config … set … --secret _ §',
  'consul kv put _ §',
  'twine|poetry|pip|uv|flit|hatch … upload|publish … -p §',
  'cargo|yarn|npm|pnpm … login §',
  'gem|nuget|choco … push … --key|-k|-ApiKey|--api-key §',
  'nuget|choco setapikey|setApiKey|apikey §',
  'bundle config … _._ _:§',
  '--user|--proxy-user|-u _:§',
  '--user=_:§',
  '--proxy-user=_:§',
  'http|https|xh|ab|curl|wget … -a|-A|--auth|-U _:§',
  'curl … -u_:§',
  'htpasswd … -b|-bc|-cb|-bB|-Bb|-bBc|-Bbc|-cBb|-bm|-bd|-bs|-b2|-b5 _ _ §',
  'htpasswd … -nb|-bn|-nbB|-nBb|-Bbn|-bnB|-nbBC|-nbm _ §',
  'openssl … pass:§',
  'openssl passwd … §',
  'sqlcmd|bcp|osql|zip|zipcloak|unzip|7z|7za|ipmitool|snmpget|curl|chisel … -P §',
  '7z|7za|7zz|7zr|rar|unrar … -p§',
  'rar|unrar … -hp§',
  'ssh-keygen … -N|-P §',
  'sshpass|useradd|usermod|adduser|ncftp|ncftpput|ncftpget|hydra|medusa|ncrack|patator … -p §',
  'sshpass … -p§',
  'plink|pscp|putty|psftp … -pw §',
  'smbclient|smbmap|rpcclient|crackmapexec|net … -U _%§',
  'net use … § /user',
  'net user _ §',
  'wmic|psexec|runas|winrs|sqlcmd|schtasks|rdesktop|freerdp … -p|/p|/rp|/password §',
  'xfreerdp|xfreerdp3|wlfreerdp … /p:§',
  'cmdkey … /pass:§',
  'ldapsearch|ldapmodify|ldapadd|ldapdelete|ldapwhoami|ldappasswd|ldapcompare … -w|-s §',
  'ldappasswd … -a|-s §',
  'ansible-vault encrypt_string … §',
  'security … -w|-p §',
  'nmcli|iwconfig|wpa_passphrase … password|key|wifi-sec.psk §',
  'wpa_passphrase _ §',
  'signtool … /p|-p §',
  'pkcs12|pkcs8|rsa|ec … -password|-passin|-passout pass:§',
  'mc alias set _ _ _ §',
  's3cmd|s4cmd|rclone … --secret_key|pass §',
  'ngrok authtoken|add-authtoken §',
  'ngrok config add-authtoken §',
  'infracost|doppler|railway|flyctl|fly|stripe|twilio|tailscale configure|auth|login … -k|-t|--key|--auth-key §',
  'lftp|ncftp|ftp … -u _,§',
  'snmpwalk|snmpget|snmpset|snmpbulkwalk … -A|-X §',
  'java|javac|javaws|jarsigner|keytool … -keypass|-storepass §',
  'restic|borg|duplicity|rsync|tar|gpg|gpg2 … --passphrase §',
  'vncviewer|x11vnc|vncpasswd … -passwd|-f §',
  'kadmin|kadmin.local|kpasswd … -pw|-w §',
  'snowsql|clickhouse-client|influx|cypher-shell … -p|--pass|-t §',
  'svn|svnadmin|hg|cvs … --password §',
  'fastlane|altool|notarytool|codesign|xcrun … -p §',
  'openvpn|vpnc|openconnect … --passwd|--token-secret §',
  'machine _ login _ password §',
  'default login _ password §',
  'login _ password ~§',
  "identified by '§",
  'IDENTIFIED BY §',
  "with|WITH|set|SET|encrypted|ENCRYPTED password|PASSWORD '§",
  'conn|connect … thin:_/§@',
  'oracle:thin:_/§@',
  'mosquitto_pub|mosquitto_sub|mosquitto_rr … -P|--pw §',
  'openssl … -k|-K §',
  '<(echo|<(printf ~§',
  ...['~§', '_ ~§', '_ _ ~§'].map((rest) => `${VERBS} ${rest}`),
  'setx ¶ §',
  'set|add|put ¶ ~§',
  'ConvertTo-SecureString §',
];

/** How images begin in base64: random to look at, and no secret. */
export const IMAGE_BEGINNINGS =
  'iVBORw0KGgo R0lGOD /9j/ UklGR PHN2Zy PD94bW AAABAA Qk0 AAAAIGZ0eX d09GM AAEAAAA'.split(' ');
