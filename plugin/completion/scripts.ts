/**
 * The scripts that shells source for completion. Each script runs the plugin, so that all shells
 * use the same table of commands.
 */

/**
 * The script for bash. If kubectl's own completion is loaded, this script replaces it, but only for
 * `kubectl pull-secret`.
 */
const bash = String.raw`__kubectl_pull_secret() {
  local at=1 files=1 cur=${"$"}{COMP_WORDS[COMP_CWORD]} line
  if [[ ${"$"}{COMP_WORDS[0]##*/} == kubectl ]]; then
    at=2
    if [[ ${"$"}{COMP_WORDS[1]} != pull-secret ]] || (( COMP_CWORD < 2 )); then
      if declare -F __start_kubectl >/dev/null; then __start_kubectl "$@"; fi
      return
    fi
  fi
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :4) files=0 ;;
      :*) ;;
      *) COMPREPLY+=("${"$"}{line%%$'\t'*}") ;;
    esac
  done < <("${"$"}{COMP_WORDS[@]:0:at}" __complete "${"$"}{COMP_WORDS[@]:at:COMP_CWORD-at}" "$cur" 2>/dev/null)
  if (( files )); then compopt -o default 2>/dev/null; fi
}
complete -F __kubectl_pull_secret kubectl kubectl-pull_secret
`;

const zsh = String.raw`#compdef kubectl-pull_secret
__kubectl_pull_secret() {
  local at=1 files=1 line
  local -a found
  if [[ ${"$"}{words[1]:t} == kubectl ]]; then
    at=2
    if [[ ${"$"}{words[2]} != pull-secret ]] || (( CURRENT < 3 )); then
      if (( $+functions[_kubectl] )); then _kubectl "$@"; fi
      return
    fi
  fi
  for line in "${"$"}{(@f)$("${"$"}{(@)words[1,at]}" __complete "${"$"}{(@)words[at+1,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :4) files=0 ;;
      :*) ;;
      *$'\t'*) found+=("${"$"}{${"$"}{line%%$'\t'*}//:/\\:}:${"$"}{line#*$'\t'}") ;;
      *) found+=("$line") ;;
    esac
  done
  if (( $#found )); then _describe kubectl-pull_secret found; fi
  if (( files )); then _files; fi
}
compdef __kubectl_pull_secret kubectl kubectl-pull_secret
`;

const fish = String.raw`function __kubectl_pull_secret
    set -l given (commandline -opc)
    set -l word (commandline -ct)
    set -l rest
    test (count $given) -gt 2; and set rest $given[3..-1]
    for line in (command kubectl pull-secret __complete $rest "$word" 2>/dev/null)
        switch $line
            case ':0'
                __fish_complete_path "$word"
            case ':*'
            case '*'
                echo $line
        end
    end
end
complete -c kubectl -n 'test (count (commandline -opc)) -ge 2; and test (commandline -opc)[2] = pull-secret' -f -a '(__kubectl_pull_secret)'
`;

/**
 * The text of kubectl_complete-pull_secret, the program that kubectl's own completion runs for the
 * plugin (kubernetes/kubernetes#105867).
 */
const kubectl = `#!/bin/sh
exec kubectl pull-secret __complete "$@"
`;

export const scripts = { bash, zsh, fish, kubectl } as const;
