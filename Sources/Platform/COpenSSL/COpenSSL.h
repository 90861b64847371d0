#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
