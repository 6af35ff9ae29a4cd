<#
.SYNOPSIS
Installs self-generation for this user: takes the archive for this machine, verifies it with checksums.txt, unpacks it in a
private folder and runs "self-generation install". No administrator, and nothing outside of the user's profile.

.EXAMPLE
.\install.ps1                                   # download the newest release
.\install.ps1 -From C:\Downloads\0.2.0          # from a folder with checksums.txt and the archives: no network
.\install.ps1 -From C:\Downloads\0.2.0\self-generation-0.2.0-windows-x64.zip
.\install.ps1 -Version 0.2.0
.\install.ps1 -BaseUrl https://HOST/FOLDER      # from a server's folder with checksums.txt and the archives
.\install.ps1 -NoHooks                          # the program alone; all clients stay as they are
.\install.ps1 -InstallOptions '--dry-run', '--json'   # for "self-generation install"

If PowerShell runs no scripts: powershell -ExecutionPolicy Bypass -File install.ps1
#>
[CmdletBinding()]
param(
    [string] $From,
    [string] $Version,
    [string] $BaseUrl,
    [switch] $NoHooks,
    [string[]] $InstallOptions = @()
)

Set-StrictMode -Version 2.0
$ErrorActionPreference = 'Stop'
# Its bar makes a download many times slower.
$ProgressPreference = 'SilentlyContinue'

# https://.../releases, by the repository in package.json; empty as long as it names none.
$Releases = ''
$SpaceMB = 400

function Stop-Install([string] $Reason) {
    throw "Cannot install self-generation: $Reason"
}

# What the archive for this machine is called.
function Get-Target {
    # A 32-bit PowerShell says what it is itself, and beside it what the system is.
    $processor = if ($env:PROCESSOR_ARCHITEW6432) { $env:PROCESSOR_ARCHITEW6432 } else { $env:PROCESSOR_ARCHITECTURE }
    switch ($processor) {
        'AMD64' { return 'windows-x64' }
        'ARM64' { return 'windows-arm64' }
        default { Stop-Install "there is no program for the processor ""$processor"", only for AMD64 and ARM64." }
    }
}

# Puts a file of the release into the private folder.
function Get-ReleaseFile([string] $Name) {
    $target = Join-Path $work $Name
    if ($folder) {
        $file = Join-Path $folder $Name
        if (-not (Test-Path -LiteralPath $file -PathType Leaf)) {
            Stop-Install "there is no ""$Name"" in ""$folder"". Take the folder of a release, with all that is in it."
        }
        Copy-Item -LiteralPath $file -Destination $target
        return
    }
    try {
        Invoke-WebRequest -UseBasicParsing -Uri "$url/$Name" -OutFile $target
    } catch {
        Stop-Install """$url/$Name"" cannot be loaded: $($_.Exception.Message)"
    }
}

# The SHA-256 that checksums.txt has for each file.
function Read-Checksums {
    $found = @{}
    foreach ($line in [IO.File]::ReadAllLines((Join-Path $work 'checksums.txt'))) {
        if ($line -cmatch '^([0-9a-f]{64}) [ *](\S+)$') { $found[$Matches[2]] = $Matches[1] }
    }
    return $found
}

# The newest version for this machine.
function Find-Version($Checksums, [string] $Target) {
    $pattern = '^self-generation-(\d+\.\d+\.\d+)-' + $Target + '\.zip$'
    $versions = @($Checksums.Keys | ForEach-Object { if ($_ -cmatch $pattern) { [version] $Matches[1] } })
    if ($versions.Count -eq 0) { Stop-Install "checksums.txt names no archive for $Target." }
    return ($versions | Sort-Object | Select-Object -Last 1).ToString()
}

if (-not $env:USERPROFILE) { Stop-Install 'USERPROFILE is not set.' }
$target = Get-Target
$archive = $null
$folder = $null
$url = $BaseUrl.TrimEnd('/')
if ($From) {
    if (-not (Test-Path -LiteralPath $From)) { Stop-Install "there is no folder or archive ""$From""." }
    $item = Get-Item -LiteralPath $From
    if ($item.PSIsContainer) { $folder = $item.FullName } else { $folder = $item.DirectoryName; $archive = $item.Name }
} elseif (-not $url) {
    if (-not $Releases) {
        Stop-Install "this script does not know where releases are published. Give a folder or a server's folder: -From DIR, -BaseUrl URL."
    }
    $url = if ($Version) { "$Releases/download/v$Version" } else { "$Releases/latest/download" }
}
if ($url -and $url -notmatch '^https://') {
    Stop-Install """$url"" is not https, so that anybody on the way could change it."
}
# Windows PowerShell 5.1 offers older ones first.
[Net.ServicePointManager]::SecurityProtocol = [Net.ServicePointManager]::SecurityProtocol -bor [Net.SecurityProtocolType]::Tls12

$drive = New-Object IO.DriveInfo ([IO.Path]::GetPathRoot($env:USERPROFILE))
$freeMB = [long] ($drive.AvailableFreeSpace / 1048576)
if ($freeMB -lt $SpaceMB) {
    Stop-Install "there is not enough space on $($drive.Name): $freeMB MB free, $SpaceMB MB needed."
}
# In the profile, which other users cannot look into.
$work = Join-Path $env:USERPROFILE ('.self-generation-install.' + [guid]::NewGuid().ToString('N'))
$null = New-Item -ItemType Directory -Path $work
$status = 1
try {
    Get-ReleaseFile 'checksums.txt'
    $checksums = Read-Checksums
    if (-not $archive) {
        if (-not $Version) { $Version = Find-Version $checksums $target }
        $archive = "self-generation-$Version-$target.zip"
    }
    $expected = $checksums[$archive]
    if (-not $expected) { Stop-Install "checksums.txt does not name ""$archive""." }
    Write-Host "Taking $archive"
    Get-ReleaseFile $archive
    $file = Join-Path $work $archive
    $found = (Get-FileHash -LiteralPath $file -Algorithm SHA256).Hash.ToLowerInvariant()
    if ($found -cne $expected) {
        Stop-Install "the SHA-256 of ""$archive"" is $found, and checksums.txt says $expected. Get it again; if it stays so, do not use it."
    }
    $unpacked = Join-Path $work 'unpacked'
    Expand-Archive -LiteralPath $file -DestinationPath $unpacked
    $program = Get-ChildItem -LiteralPath $unpacked -Recurse -Filter 'self-generation.exe' | Select-Object -First 1
    if (-not $program) { Stop-Install """$archive"" has no program in it." }
    # SmartScreen asks about files that a browser has loaded; this one has been verified.
    Unblock-File -LiteralPath $program.FullName
    $null = & $program.FullName --version
    if ($LASTEXITCODE -ne 0) { Stop-Install "the program of ""$archive"" does not run here. A virus scanner may have stopped it." }
    $words = @('install')
    if ($NoHooks) { $words += '--no-claude', '--no-codex', '--no-gemini', '--no-opencode' }
    $words += $InstallOptions
    & $program.FullName @words
    $status = $LASTEXITCODE
} finally {
    Remove-Item -LiteralPath $work -Recurse -Force -ErrorAction SilentlyContinue
}
# In a shell of the user's, into which the script was piped, that would close the window.
if ($PSCommandPath) { exit $status }
