#ifndef CURL_RUNTIME_H
#define CURL_RUNTIME_H

#endif
