#!/bin/sh
echo "$TPU_VM_HOSTNAME"
