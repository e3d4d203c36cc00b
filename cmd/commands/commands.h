// Every command by its name; each is described in a file of that name in this folder.
#pragma once

#include "cmd/command.h"

namespace podctl::commands {

extern const Command& kInit;
extern const Command& kValidate;
extern const Command& kPlan;
extern const Command& kApply;
extern const Command& kDestroy;
extern const Command& kWatch;
extern const Command& kShow;
extern const Command& kStatus;
extern const Command& kExec;
extern const Command& kSsh;
extern const Command& kCp;
extern const Command& kTunnel;
extern const Command& kRun;
extern const Command& kDoctor;
extern const Command& kDrain;
extern const Command& kJobs;
extern const Command& kLogs;
extern const Command& kKill;
extern const Command& kState;
extern const Command& kStateList;
extern const Command& kStateShow;
extern const Command& kStateMv;
extern const Command& kStateRm;
extern const Command& kStatePull;
extern const Command& kStatePush;
extern const Command& kStateHistory;
extern const Command& kStateRestore;
extern const Command& kImport;
extern const Command& kUnlock;
extern const Command& kAuth;
extern const Command& kAuthStatus;
extern const Command& kAuthorize;
extern const Command& kEmulator;
extern const Command& kTypes;
extern const Command& kVersions;
extern const Command& kCompletion;
extern const Command& kVersion;
extern const Command& kHelp;

}  // namespace podctl::commands
