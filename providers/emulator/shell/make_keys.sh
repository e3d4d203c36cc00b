#!/bin/bash
vm=$1 host=$2
rm -rf "$vm/state"
mkdir -p "$vm/state"
chmod 755 "$vm/state"
# 2048 bits keep the boot of a large pod on a small machine within seconds.
while read -r type bits; do
  key=$vm/ssh/ssh_host_${type}_key
  if [ ! -s "$key.pub" ]; then
    rm -f "$key"
    ssh-keygen -q -t "$type" $bits -N '' -C "root@$host" -f "$key" || exit 1
  fi
done <<'KEYS'
ed25519
ecdsa
rsa -b 2048
KEYS
exit 0
