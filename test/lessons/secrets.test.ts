import { expect, test } from 'bun:test';
import { redactSecrets } from '../../src/core/redact.ts';
import { learn } from '../../src/lessons/learn.ts';
import { episodeIn, textOf } from './episodes.ts';

/** Where people type secrets; `§` stands for one, `↵` for the end of a line. */
const COMMANDS = `
mysql -u root -p§ shop
mysql --user=root --password=§ shop
mysql -h db -u app --password § shop
mysqldump -u root -p§ shop
mysqladmin -u root password §
mariadb -uroot -p§ shop
psql postgres://app:§@db:5432/shop
psql "host=db user=app password=§ dbname=shop"
PGPASSWORD=§ psql -h db -U app shop
PGPASSWORD='§' pg_dump shop
sqlplus scott/§@orcl
sqlcmd -S db -U sa -P § -Q report
bcp orders out orders.csv -U sa -P §
isql shop app §
mongosh mongodb://app:§@db/shop
mongosh shop -u app -p §
mongosh --username app --password § shop
mongodump --uri mongodb://app:§@db/shop
mongosh §
redis-cli -a § ping
redis-cli -h cache AUTH §
redis-cli CONFIG SET requirepass §
REDISCLI_AUTH=§ redis-cli ping
cqlsh db -u app -p §
clickhouse-client --password § --query report
influx auth create --token §
etcdctl --user root:§ get shop
neo4j-admin set-initial-password §
rabbitmqctl add_user app §
rabbitmqctl change_password app §
docker login -u app -p § registry.example
echo § | docker login --password-stdin -u app
printf '%s' § | docker login --password-stdin -u app
docker run -e POSTGRES_PASSWORD=§ -d postgres
docker run --env API_KEY=§ app
docker build --build-arg NPM_TOKEN=§ .
podman login -u app -p § quay.example
docker compose run -e TOKEN=§ web
kubectl create secret generic app --from-literal=token=§
kubectl create secret generic app --from-literal token=§
kubectl create secret docker-registry app --docker-password=§
kubectl config set-credentials app --token=§
kubectl config set-credentials app --password §
helm install app charts/app --set db.password=§
helm repo add acme charts --username app --password §
helm registry login -u app -p § registry
terraform plan -var db_password=§
terraform plan -var "db_password=§"
TF_VAR_db_password=§ terraform plan
vault kv put secret/app key=§
vault login §
vault write auth/userpass/users/app password=§
vault token lookup §
VAULT_TOKEN=§ vault kv get secret/app
aws configure set aws_secret_access_key §
AWS_SECRET_ACCESS_KEY=§ aws sqs list-queues
aws secretsmanager put-secret-value --secret-id app --secret-string §
aws ssm put-parameter --name app --value § --type SecureString
aws iam create-login-profile --user-name app --password §
az login -u app -p §
az login --service-principal -u app -p § --tenant acme
az keyvault secret set --name app --value §
gcloud auth activate-service-account --key-file §
gcloud secrets create app --data §
doctl auth init -t §
heroku config:set API_KEY=§
flyctl secrets set API_KEY=§
vercel deploy --token §
vercel deploy -t §
netlify deploy --auth §
netlify deploy --auth=§
wrangler secret put §
stripe login --api-key §
sentry-cli --auth-token § releases list
snyk auth §
sonar-scanner -Dsonar.login=§
gh secret set NAME -b §
gh secret set NAME --body §
gh auth login --with-token §
GH_TOKEN=§ gh pr list
GITHUB_TOKEN='§' npm run release
glab auth login --token §
git clone https://app:§@git.example/shop.git
git clone https://§@git.example/shop.git
git push https://app:§@git.example/shop.git main
git remote add backup https://app:§@git.example/shop.git
git config credential.helper §
git -c http.extraHeader="Authorization: Bearer §" fetch
npm config set //registry.example/:_authToken §
npm config set //registry.example/:_authToken=§
npm login --password §
NPM_TOKEN=§ npm publish
npm publish --otp §
npm publish --otp=§
yarn config set npmAuthToken §
poetry config pypi-token.pypi §
poetry config http-basic.acme app §
poetry publish -u app -p §
twine upload -u app -p § dist/app.whl
TWINE_PASSWORD=§ twine upload dist/app.whl
UV_PUBLISH_TOKEN=§ uv publish
uv publish --token §
cargo login §
cargo publish --token §
gem push app.gem --key §
gem push app.gem --otp §
dotnet nuget push app.nupkg --api-key §
dotnet nuget push app.nupkg -k §
dotnet user-secrets set Api:Key §
nuget setapikey §
mvn deploy -Dgpg.passphrase=§
mvn deploy -Dpassword=§
./gradlew publish -PossrhPassword=§
./gradlew publish -Ptoken=§
composer config http-basic.repo.example app §
bundle config set --global gems.example app:§
php artisan make:admin --password=§
php artisan tinker --execute §
python manage.py createsuperuser --password §
DJANGO_SECRET_KEY=§ python manage.py check
python scripts/sync.py --api-key §
python scripts/sync.py --token=§
python scripts/sync.py -k §
node scripts/sync.js --secret §
node scripts/sync.js --access-token=§
node scripts/login.js app §
API_KEY=§ node scripts/sync.js
API_KEY="§" npm run sync
STRIPE_SECRET=§ npm test
DATABASE_URL=postgres://app:§@db:5432/shop npm test
DATABASE_URL=postgres://app:§@db:5432/shop npx prisma migrate deploy
npm run seed -- --password §
npm run seed -- --password=§
npm run seed -- --admin-pass §
npm run user:create -- --pin §
env API_KEY=§ npm test
env SECRET=§ ./run.sh
export KEY=§ && npm test
curl -u app:§ example.test
curl -u "app:§" example.test
curl -H "Authorization: Bearer §" example.test
curl -H "X-Api-Key: §" example.test
curl -H 'Cookie: session=§' example.test
curl -d '{"password":"§"}' example.test
curl -d "user=app&password=§" example.test
curl --data-raw password=§ example.test
curl -F token=§ example.test
curl "https://example.test/v1?key=§"
curl --oauth2-bearer § example.test
http POST example.test password=§
http -a app:§ example.test
xh example.test X-Token:§
wget --user=app --password=§ example.test
wget --header="X-Token: §" example.test
grpcurl -H "authorization: §" api.example list
htpasswd -b users.txt app §
htpasswd -bc users.txt app §
openssl enc -aes-256-cbc -pass pass:§ -in a.txt
openssl rsa -in key.pem -passin pass:§
openssl pkcs12 -export -passout pass:§ -in a.pem
openssl passwd §
gpg --batch --passphrase § -d a.gpg
gpg --passphrase=§ --decrypt a.gpg
zip -P § out.zip a.txt
unzip -P § out.zip
7z a -p§ out.7z a.txt
7z x -p§ out.7z
rar a -hp§ out.rar a.txt
unrar x -p§ out.rar
keytool -genkey -storepass § -keystore a.jks
keytool -list -storepass § -keypass §
jarsigner -storepass § app.jar release
ssh-keygen -t ed25519 -N § -f id
sshpass -p § scp a.txt host:
sshpass -p§ scp a.txt host:
SSHPASS=§ sshpass -e scp a.txt host:
smbclient //server/share -U app%§
net use share § /user:app
cmdkey /add:server /user:app /pass:§
ldapsearch -x -D cn=admin -w § uid=app
kinit --password §
restic -r repo backup src --password-command §
RESTIC_PASSWORD=§ restic snapshots
borg create --passphrase § repo
rclone config create acme webdav pass §
ansible-playbook site.yml -e db_password=§
ansible-playbook site.yml --extra-vars "db_password=§"
ansible-vault encrypt_string §
security add-generic-password -a app -s shop -w §
security unlock-keychain -p § login.keychain
op item create password=§
bw unlock §
pass insert app/§
lpass login §
nmcli dev wifi connect acme password §
useradd -p § app
usermod -p § app
echo "app:§" | chpasswd
echo § | sudo -S make install
expect -c "send §"
fastlane match --password §
xcrun altool --upload-app -u app -p §
xcrun notarytool submit app.zip --password §
codesign --keychain-password § app
signtool sign /p § app.exe
jupyter server --ServerApp.token=§
flask run --secret-key §
rails credentials:edit --key §
SECRET_KEY_BASE=§ bin/rails assets:precompile
RAILS_MASTER_KEY=§ bin/rails test
mix phx.gen.secret §
ffmpeg -i a.mp4 -f flv rtmp://live.example/app/§
wscat -c wss://example.test -H "X-Token: §"
npx wrangler deploy --api-token §
pulumi config set --secret dbPassword §
pulumi login --token §
sops --encrypt --pgp § a.yaml
age -p § a.txt
cat <<EOF > .env↵API_KEY=§↵EOF
echo "TOKEN=§" >> .env
비밀번호=§ npm test
node scripts/sync.js --비밀번호 §
node scripts/sync.js --암호=§
로그인 --암호 §
telnet db §
minio server --access §
mc alias set acme server app §
kafka-topics --command-config §
terraform login §
consul kv put app/key §
snowsql -u app --authenticator §
snowsql -a acme -p §
acme connect server §
./bin/unlock.sh §
python tools/adduser.py app §
rake admin:create[app,§]
acmectl --user app --code § sync
mytool -s § run
mytool --license § run
bin/console app:user:create app §
bun run scripts/set-pw.ts §
svn checkout --username app --password § repo
ssh-add -K §
acme --apiToken=§
acme --pass=§
acme --pw §
acme --phrase §
java -jar app.jar app §
psql -c "alter user app with password '§'"
mysql -e "set password = '§'"
sqlite3 app.db "insert into users values ('app','§')"
git commit -m "use § as password"
sc.exe config svc password= §
tailscale up --authkey §
cloudflared tunnel run --token §
ngrok authtoken §
ngrok config add-authtoken §
supabase login --token §
supabase link --password §
firebase deploy --token §
eas login -u app -p §
docker exec db psql -U app -W § shop
docker compose exec db mysql -u root -p§ shop
npx prisma db push --url postgres://app:§@db/shop
ansible all -m user -a "name=app password=§"
kubectl exec app -- env KEY=§ run
timeout 5 redis-cli -a § ping
sudo mysql -u root -p§
uv run python scripts/login.py app §
`
  .trim()
  .split('\n');

let state = 20260101;
const random = (below: number) => {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const made = (length: number, letters: string) =>
  Array.from({ length }, () => letters[random(letters.length)]).join('');
const SMALL = 'abcdefghijklmnopqrstuvwxyz';
const HEX = '0123456789abcdef';
const MIXED = `${SMALL}ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789`;
const WORDS = 'correct horse battery staple tiger summer winter dragon monkey purple shadow master'.split(
  ' ',
);
const word = () => WORDS[random(WORDS.length)] as string;

const SHAPES: Record<string, () => string> = {
  mixed: () => made(16 + random(16), MIXED),
  words: () => word() + word() + made(2, SMALL),
  hyphened: () => `${word()}-${word()}-${made(3, SMALL)}`,
  name: () => `${word()}_${made(3, SMALL)}_${word()}`,
  year: () => `${(word()[0] as string).toUpperCase()}${word().slice(1)}20${10 + random(15)}`,
  digits: () => made(6 + random(4), '123456789'),
  punctuated: () => `${word()}${made(3, MIXED)}!%${random(99)}`,
  hex: () => made(32, HEX),
  uuid: () => [8, 4, 4, 4, 12].map((length) => made(length, HEX)).join('-'),
  base64: () => `${made(22, MIXED)}==`,
};

type Run = { readonly shape: string; readonly secret: string; readonly command: string };

/** Every command with a few shapes in turn. */
const SHAPES_EACH = 4;
const RUNS: Run[] = COMMANDS.flatMap((command, index) =>
  Array.from({ length: SHAPES_EACH }, (_none, turn): Run => {
    const shapes = Object.entries(SHAPES);
    const [shape, make] = shapes[(index * 3 + turn * 7) % shapes.length] as [string, () => string];
    return { shape, secret: make(), command };
  }),
);

/** What others read of two sessions in which the command fails in one way and is put right, or helps another. */
function toldBy({ command, secret }: Run): string[] {
  const filled = command.replaceAll('§', secret);
  const withOption = (option: string) => filled.replace(/^((?:\S+=\S+ )*\S+)/, `$1 ${option}`);
  const wrong = `✗ ${withOption('--frobnicate')}\n  error: unknown option --frobnicate`;
  // Of what redaction left out, and of what was said before, a message does not speak.
  const isSaid = redactSecrets(filled.replaceAll('↵', '\n')).includes(secret) && !filled.startsWith('export');
  const episodes = [
    `${wrong}\n✓ ${filled}`,
    `${wrong}\n✓ ${withOption('--quiet')}`,
    `✗ ${command.replaceAll('§', 'other')}\n  error: option requires an argument\n✓ ${filled}`,
    `✗ ${filled}\n  error: unexpected argument '${isSaid ? secret : 'shop'}' found\n✓ ${filled} --all`,
    `✗ make run\n  Error: connect ECONNREFUSED 127.0.0.1:5432\n✓ ${filled}\n✓ make run`,
    `✗ ${filled}\n  error: no such command\n✓ cd server && ${filled}`,
  ];
  return episodes.flatMap((steps) =>
    learn(episodeIn(`case\n${steps}\n§\n${steps}`).log, '/repo').flatMap((group) =>
      group.lesson === null ? [] : [textOf(group, 'ko') ?? '', textOf(group, 'en') ?? '', group.lesson.said],
    ),
  );
}

test('at most three of a hundred secrets are told, whatever they look like', () => {
  const told: string[] = [];
  for (const run of RUNS) {
    const text = toldBy(run).find((one) => one.includes(run.secret));
    if (text !== undefined) told.push(`${run.shape}: ${run.command} → ${text}`);
  }
  if (process.env.SHOW_TOLD) console.log(`${told.length} of ${RUNS.length}\n${told.join('\n')}`);
  expect(COMMANDS.length).toBeGreaterThanOrEqual(100);
  expect(told.length / RUNS.length).toBeLessThanOrEqual(0.03);
}, 60_000);
