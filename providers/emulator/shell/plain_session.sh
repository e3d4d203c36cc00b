#!/bin/bash
export TPU_VM_FOLDER='@VM@' HOME='@VM@/home' PATH="@VM@/bin:$PATH"
cd "$HOME" || exit 1
case $SSH_ORIGINAL_COMMAND in
  '') exec bash -i ;;
  internal-sftp) exec /usr/lib/openssh/sftp-server ;;
  *) exec bash -c "$SSH_ORIGINAL_COMMAND" ;;
esac
