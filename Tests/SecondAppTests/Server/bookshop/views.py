import hashlib
from collections import Counter

from django.contrib.auth import login, logout
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect, ensure_csrf_cookie
from rest_framework import generics, serializers, status
from rest_framework.authentication import SessionAuthentication, TokenAuthentication
from rest_framework.authtoken.models import Token
from rest_framework.authtoken.serializers import AuthTokenSerializer
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import AllowAny, IsAuthenticated
from rest_framework.response import Response
from rest_framework.throttling import UserRateThrottle
from rest_framework.views import APIView

from bookshop.models import Book


def user_of(request):
    serializer = AuthTokenSerializer(data=request.data, context={"request": request})
    serializer.is_valid(raise_exception=True)
    return serializer.validated_data["user"]


@method_decorator([ensure_csrf_cookie, csrf_protect], name="dispatch")
class SessionView(APIView):
    """GET sets the CSRF cookie, POST signs in, DELETE signs out; the last two need the CSRF header."""

    authentication_classes = [SessionAuthentication]
    permission_classes = [AllowAny]

    def get(self, request):
        return Response({"username": request.user.username})

    def post(self, request):
        user = user_of(request)
        login(request._request, user)
        return Response({"username": user.username})

    def delete(self, request):
        logout(request._request)
        return Response(status=status.HTTP_204_NO_CONTENT)


class TokenView(APIView):
    """POST signs in, DELETE revokes the token on all devices."""

    authentication_classes = [TokenAuthentication]

    def get_permissions(self):
        return [AllowAny() if self.request.method == "POST" else IsAuthenticated()]

    def get_authenticators(self):
        # An old token must not keep a user from signing in.
        return [] if self.request.method == "POST" else super().get_authenticators()

    def post(self, request):
        return Response({"token": Token.objects.get_or_create(user=user_of(request))[0].key})

    def delete(self, request):
        request.auth.delete()
        return Response(status=status.HTTP_204_NO_CONTENT)


class BookSerializer(serializers.ModelSerializer):
    class Meta:
        model = Book
        fields = ["id", "shelf", "title", "isbn", "cents"]


class NewBookView(generics.CreateAPIView):
    authentication_classes = [SessionAuthentication]
    serializer_class = BookSerializer


class BookView(generics.RetrieveUpdateDestroyAPIView):
    authentication_classes = [SessionAuthentication]
    serializer_class = BookSerializer
    queryset = Book.objects.all()

    def check_object_permissions(self, request, book):
        if request.method != "GET" and book.shelf == "main":
            raise PermissionDenied("Only drafts can be edited.")


class PictureView(APIView):
    authentication_classes = [SessionAuthentication]

    def put(self, request):
        picture = request.FILES.get("picture")
        if picture is None:
            raise serializers.ValidationError({"picture": ["No file was submitted."]})
        digest = hashlib.sha256()
        for chunk in picture.chunks():
            digest.update(chunk)
        return Response(
            {
                "name": picture.name,
                "type": picture.content_type,
                "size": picture.size,
                "sha256": digest.hexdigest(),
                "caption": request.data.get("caption", ""),
            }
        )


class OrderThrottle(UserRateThrottle):
    """One request of a user in three seconds."""

    scope = "orders"
    rate = "1/second"
    refusals = Counter()

    def parse_rate(self, rate):
        return 1, 3

    def allow_request(self, request, view):
        self.user = request.user
        return super().allow_request(request, view)

    def throttle_failure(self):
        self.refusals[self.user] += 1
        return False


class OrderView(APIView):
    """Answers 429 with Retry-After to a second request in three seconds."""

    authentication_classes = [TokenAuthentication]
    throttle_classes = [OrderThrottle]

    def get(self, request):
        return Response({"refusals": OrderThrottle.refusals[request.user]})

    def post(self, request):
        refusals = OrderThrottle.refusals[request.user]
        return Response({"book": request.data["book"], "refusals": refusals}, status=status.HTTP_201_CREATED)


class ReportThrottle(UserRateThrottle):
    scope = "reports"
    rate = "1/hour"


class ReportView(APIView):
    """Answers 429 with a long Retry-After to the second request."""

    authentication_classes = [TokenAuthentication]
    throttle_classes = [ReportThrottle]

    def get(self, request):
        return Response({"books": Book.objects.count()})
