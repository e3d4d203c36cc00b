#!/bin/bash
vm=$1
if [ -e "$vm/units/tpu-runtime.service" ]; then
  "$vm/bin/systemctl" start tpu-runtime > "$vm/state/boot.log" 2>&1
fi
if [ -s "$vm/metadata/attributes/startup-script" ]; then
  cp "$vm/metadata/attributes/startup-script" "$vm/state/startup-script"
  chmod 700 "$vm/state/startup-script"
  (cd / && setsid "$vm/state/startup-script" < /dev/null > "$vm/state/startup-script.log" 2>&1 &)
fi
exit 0
