/**
 * The scripts that shells source. Each asks the program that is found on the PATH what may stand at the cursor, and takes its
 * lines, `value<TAB>description`, as data: nothing of them is evaluated. The words go to the program as they are typed. It ends
 * with 0 where these are all; otherwise paths of files may stand there as well.
 */
export type Shell = {
  readonly name: string;
  /** The command that sets it up, and where it goes. */
  readonly setUp: string;
  readonly place: string;
  /** What a package calls the file. */
  readonly file: string;
  readonly script: string;
};

const BASH = `# Completions of self-generation for bash, 3.2 and later.
_self_generation() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [[ -z $line ]] || COMPREPLY+=("\${line%%$'\\t'*}")
  done < <(command self-generation complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" </dev/null 2>/dev/null)
}
complete -o default -F _self_generation self-generation
`;

const ZSH = `#compdef self-generation
# Completions of self-generation for zsh.
_self-generation() {
  local answer line
  local -a values
  local -i files
  answer=$(command self-generation complete -- "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" </dev/null 2>/dev/null)
  files=$?
  for line in "\${(@f)answer}"; do
    [[ -z $line ]] || values+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( $#values )) && _describe -t values value values && return
  (( files )) && _files
}
if [[ $funcstack[1] == _self-generation ]]; then
  _self-generation "$@"
else
  compdef _self-generation self-generation
fi
`;

const FISH = `# Completions of self-generation for fish, 3.0 and later.
function __self_generation_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    command self-generation complete -- $words[2..-1] "$current" </dev/null 2>/dev/null
    or __fish_complete_path "$current"
end
complete -c self-generation -f -k -a '(__self_generation_complete)'
`;

const POWERSHELL = `# Completions of self-generation for PowerShell, 5.1 and later.
Register-ArgumentCompleter -Native -CommandName self-generation -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $program = Get-Command -Name self-generation -CommandType Application -ErrorAction SilentlyContinue | Select-Object -First 1
    if (-not $program) { return }
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.StartOffset -lt $cursorPosition } | ForEach-Object { $_.Extent.Text })
    # Some versions leave an empty word out; the program takes two quotes for one.
    if ($wordToComplete -eq '') { $words += "''" }
    & $program.Source 'complete' '--' @words 2>$null | ForEach-Object {
        $value, $description = $_ -split "\`t", 2
        if (-not $description) { $description = $value }
        [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $description)
    }
}
`;

export const SHELLS: readonly Shell[] = [
  {
    name: 'bash',
    setUp: 'eval "$(self-generation completions bash)"',
    place: '~/.bashrc',
    file: 'self-generation.bash',
    script: BASH,
  },
  {
    name: 'zsh',
    setUp: 'eval "$(self-generation completions zsh)"',
    place: '~/.zshrc, below compinit',
    file: '_self-generation',
    script: ZSH,
  },
  {
    name: 'fish',
    setUp: 'self-generation completions fish | source',
    place: '~/.config/fish/config.fish',
    file: 'self-generation.fish',
    script: FISH,
  },
  {
    name: 'powershell',
    setUp: 'self-generation completions powershell | Out-String | Invoke-Expression',
    place: '$PROFILE',
    file: 'self-generation.ps1',
    script: POWERSHELL,
  },
];
