// What MakeForge chooses from.
#pragma once

#include <memory>

#include "providers/forges/forge.h"
#include "providers/forges/place.h"
#include "providers/forges/rest_client.h"

namespace podctl {

std::unique_ptr<Forge> MakeGitHub(const ForgePlace& place, const ForgeDoors& doors);  // and Gitea
std::unique_ptr<Forge> MakeGitLab(const ForgePlace& place, const ForgeDoors& doors);

}  // namespace podctl
