import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PASSED_ON, variablesNamed } from '../../clients/environment.ts';
import type { TurnCommand } from '../../clients/runs/run-client.ts';
import type { TurnFiles } from '../../core/runs/run-files.ts';
import type { Turn } from '../../core/runs/turn.ts';
import type { Environment } from '../../core/state-paths.ts';
import { markerOf } from './turn-client.ts';

const PRIVATE_FILE = { mode: 0o600 } as const;
const PRIVATE_DIRECTORY = { mode: 0o700, recursive: true } as const;
/** Where everything of ours is, for a command of ours that the client may run: it has to find itself refused there. */
const OWN_VARIABLES = ['SELF_GENERATION_HOME'];
/**
 * Where tools of ordinary builds are; unlike the model alone, a sub-agent runs commands. The agent that holds the user's
 * keys is not among them: who can ask it is the user on other machines. Named one by one, since what begins like these may be a token (`CARGO_REGISTRY_TOKEN`, `NPM_CONFIG_…`).
 */
const FOR_BUILDS = [
  ...['SHELL'],
  ...['JAVA_HOME', 'JDK_HOME', 'MAVEN_HOME', 'M2_HOME', 'GRADLE_HOME', 'GRADLE_USER_HOME', 'SDKMAN_DIR'],
  ...['ANDROID_HOME', 'ANDROID_SDK_ROOT', 'ANDROID_NDK_HOME', 'KOTLIN_HOME', 'DOTNET_ROOT', 'DEVELOPER_DIR'],
  ...['GOPATH', 'GOROOT', 'GOBIN', 'GOCACHE', 'GOMODCACHE', 'GOTOOLCHAIN', 'GOPRIVATE'],
  ...['CARGO_HOME', 'CARGO_TARGET_DIR', 'RUSTUP_HOME', 'RUSTUP_TOOLCHAIN'],
  ...['VIRTUAL_ENV', 'CONDA_PREFIX', 'CONDA_DEFAULT_ENV', 'CONDA_EXE', 'PYENV_ROOT', 'PYENV_VERSION'],
  ...['PIPX_HOME', 'POETRY_HOME', 'UV_CACHE_DIR', 'PIP_CACHE_DIR'],
  ...['NVM_DIR', 'NVM_BIN', 'FNM_DIR', 'VOLTA_HOME', 'N_PREFIX', 'PNPM_HOME', 'COREPACK_HOME', 'BUN_INSTALL'],
  ...['DENO_DIR', 'DENO_INSTALL', 'ASDF_DIR', 'ASDF_DATA_DIR', 'MISE_DATA_DIR', 'MISE_CONFIG_DIR'],
  ...['RBENV_ROOT', 'RBENV_VERSION', 'GEM_HOME', 'GEM_PATH', 'COMPOSER_HOME', 'PUB_CACHE', 'FLUTTER_ROOT'],
  ...['CC', 'CXX', 'PKG_CONFIG_PATH', 'CMAKE_PREFIX_PATH', 'CCACHE_DIR', 'HOMEBREW_PREFIX', 'NIX_PROFILES'],
  ...['REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'PIP_CERT', 'NIX_SSL_CERT_FILE', 'CARGO_HTTP_CAINFO'],
];

/** Writes what the client finds at its start: its prompt, its private directory, empty files for what it says. */
export function writeTurnFiles(files: TurnFiles, command: TurnCommand): void {
  mkdirSync(files.directory, PRIVATE_DIRECTORY);
  makeEmpty(files);
  for (const name of command.keeps ?? []) linkKept(files, name);
  writeFileSync(files.prompt, command.stdin, PRIVATE_FILE);
  for (const [name, text] of Object.entries(command.files)) {
    const path = join(files.home, name);
    mkdirSync(dirname(path), PRIVATE_DIRECTORY);
    writeFileSync(path, text, PRIVATE_FILE);
  }
}

/** An earlier try of the same turn leaves nothing behind. */
function makeEmpty(files: TurnFiles): void {
  for (const path of [files.output, files.errors]) {
    rmSync(path, { force: true });
    writeFileSync(path, '', PRIVATE_FILE);
  }
  rmSync(files.home, { recursive: true, force: true });
  mkdirSync(files.home, PRIVATE_DIRECTORY);
}

/** A directory that stays when the turn's own goes; a junction, as links are not for everybody on Windows. */
function linkKept(files: TurnFiles, name: string): void {
  const kept = join(files.kept, name);
  const link = join(files.home, name);
  for (const directory of [kept, dirname(link)]) mkdirSync(directory, PRIVATE_DIRECTORY);
  symlinkSync(kept, link, 'junction');
}

/** What the client's environment holds: of ours only what is on a list, so that no secret of others goes along. */
export function clientEnvironment(
  turn: Pick<Turn, 'runId' | 'number'>,
  command: TurnCommand,
  env: Environment,
): Environment {
  const names = [...PASSED_ON, ...FOR_BUILDS, ...OWN_VARIABLES, ...command.passedOn];
  const marker = markerOf(turn);
  return {
    ...variablesNamed(env, names),
    ...command.env,
    SELF_GENERATION_INTERNAL: '1',
    [marker.name]: marker.value,
  };
}
