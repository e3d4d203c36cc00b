// The transitions of a record: every change to the lives of its objects and to its goal, whoever
// makes it (the journal of a run, settling what an earlier one left, import, drift, `podctl
// state`). They depend on their arguments alone; times are RFC 3339.
//
// Each leaves a valid record (record.h, WhatCannotBe), or one that IsEmpty, which the caller has to
// forget.
#pragma once

#include <string>

#include "state/record.h"

namespace podctl {

// ---- Requests. `deposed` is the locator of a deposed object; empty: the current one, or what it
// comes from.

// The object `locator` is to be made, through the auxiliary object `through` where that is not
// empty. What is known of the current object is forgotten.
void BeginCreate(const std::string& locator, const std::string& through, Intent intent,
                 Record* record);
// The current object is deposed, where it may exist; the next one is made before it is deleted.
void Depose(Record* record);
// Nothing where there is no current object.
void BeginChange(Intent intent, Record* record);
// Nothing where the deposed object is not known.
void BeginDelete(const std::string& deposed, Intent intent, Record* record);
// The service answered with an operation. Nothing where nothing is under way.
void NoteOperation(const std::string& deposed, const std::string& operation, Record* record);
// What was begun is over: the object is there, if anybody ever saw it. What was not seen, or is to
// be made by an auxiliary object, is as it was.
void EndRequest(const std::string& deposed, Record* record);
// The request changed nothing. An object that nobody ever saw is absent then, or the one that was
// deposed for it is the current one again.
void Withdraw(const std::string& deposed, Record* record);

// ---- What is seen of the service.

// The current object is there, whatever becomes of it.
void See(const std::string& uid, Record* record);
// The current object is there and finished; so is what it comes from.
void Finish(Record* record);
// It comes from the auxiliary object `through`, which is there; empty: from none. Nothing while the
// current object has a request of its own.
void ComeFrom(const std::string& through, Record* record);
// The object is gone; with the current one, what it came from.
void Lose(const std::string& deposed, Record* record);
// The last deposed object is the current one again; what the one made in its stead was to come from
// is forgotten. False: there is none.
bool Reinstate(Record* record);

// ---- Goals.

// The current object was found `because` at `now`. Nothing where it recovers already.
void BeginRecovery(const std::string& because, const std::string& now, Record* record);
void EndRecovery(const std::string& now, Record* record);
// A zone with capacity is sought; since `now`, unless one was sought before.
void Seek(const std::string& now, Record* record);
// A zone was found, or none is sought any more.
void StopSeeking(Record* record);
void WantReplacement(const std::string& because, Record* record);
// It was made anew.
void NoteReplaced(Record* record);
// It is to go; nothing of it is to be made anew. And: it is to stay after all.
void Leave(Record* record);
void Stay(Record* record);

}  // namespace podctl
